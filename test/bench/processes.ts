import { readdirSync, readFileSync } from 'node:fs'

const statOf = (pid: string): { parent: number } | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return { parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) }
  } catch {
    return undefined
  }
}

/** Processes below `pid` by what they are: `envoy`, `gateway`, `admin`, `sandbox`; a second gateway is `gateway-2`. */
export const partsBelow = (pid: number): Record<string, number> => {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = statOf(name)
    if (stat !== undefined) parents.set(Number(name), stat.parent)
  }
  const isBelow = (one: number): boolean => {
    for (let at = parents.get(one); at !== undefined && at > 1; at = parents.get(at))
      if (at === pid) return true
    return false
  }
  const parts: Record<string, number> = {}
  for (const one of parents.keys()) {
    if (!isBelow(one)) continue
    const command = readFileSync(`/proc/${one}/cmdline`, 'utf8')
    const kind = /gateway/.test(command.slice(0, 60))
      ? 'gateway'
      : /admin/.test(command.slice(0, 40))
        ? 'admin'
        : /envoy/.test(command.split('\0')[0] ?? '')
          ? 'envoy'
          : /sandbox/.test(command.slice(0, 40))
            ? 'sandbox'
            : undefined
    if (kind === undefined) continue
    parts[kind in parts ? `${kind}-${Object.keys(parts).length}` : kind] = one
  }
  return parts
}
