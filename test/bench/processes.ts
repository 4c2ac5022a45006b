import { readdirSync, readFileSync } from 'node:fs'

/** A file of `/proc`; undefined when the process has ended. */
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

/** Title or command line of a process; empty when it has ended. */
export const titleOf = (pid: number): string => (reported(pid, 'cmdline') ?? '').replaceAll('\0', ' ').trim()

/** All processes below `pid`, and `pid` itself. */
const descendants = (pid: number): readonly number[] => {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = parentOf(Number(name))
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const below = (pid: number): readonly number[] => [pid, ...(children.get(pid) ?? []).flatMap(below)]
  return below(pid)
}

/** All processes of a system by their ids. */
export const allBelow = (pid: number): Readonly<Record<string, number>> =>
  Object.fromEntries(descendants(pid).map((pid) => [String(pid), pid]))

/** Processes below `pid` by their kind: `envoy`, `gateway`, `admin`, `sandbox`; a second gateway is `gateway-2`. */
export const partsBelow = (pid: number): Record<string, number> => {
  const parts: Record<string, number> = {}
  for (const child of descendants(pid).slice(1)) {
    const kind = kindOf(reported(child, 'cmdline') ?? '')
    if (kind !== undefined) parts[kind in parts ? `${kind}-${Object.keys(parts).length}` : kind] = child
  }
  return parts
}
