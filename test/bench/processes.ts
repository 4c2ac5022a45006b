import { readdirSync, readFileSync } from 'node:fs'

/** A file of `/proc`; undefined when the process has ended meanwhile. */
const reported = (pid: number, file: 'stat' | 'cmdline'): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}

const parentOf = (pid: number): number | undefined => {
  const stat = reported(pid, 'stat')
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

const kindOf = (command: string): string | undefined => {
  if (/gateway/.test(command.slice(0, 60))) return 'gateway'
  if (/admin/.test(command.slice(0, 40))) return 'admin'
  if (/envoy/.test(command.split('\0')[0] ?? '')) return 'envoy'
  return /sandbox/.test(command.slice(0, 40)) ? 'sandbox' : undefined
}

/** Processes below `pid` by what they are: `envoy`, `gateway`, `admin`, `sandbox`; a second gateway is `gateway-2`. */
export const partsBelow = (pid: number): Record<string, number> => {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = parentOf(Number(name))
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const isBelow = (one: number): boolean => {
    for (let at = parents.get(one); at !== undefined && at > 1; at = parents.get(at))
      if (at === pid) return true
    return false
  }
  const parts: Record<string, number> = {}
  for (const one of parents.keys()) {
    const kind = isBelow(one) ? kindOf(reported(one, 'cmdline') ?? '') : undefined
    if (kind !== undefined) parts[kind in parts ? `${kind}-${Object.keys(parts).length}` : kind] = one
  }
  return parts
}
