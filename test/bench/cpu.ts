import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks a second of /proc/<pid>/stat on Linux. */
const TICKS = 100

const cpuOf = (stat: string): number => {
  try {
    const text = readFileSync(stat, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  } catch {
    return 0
  }
}

/** CPU seconds (user and system) that a process has used; 0 when it is gone. */
export const cpuSeconds = (pid: number): number => cpuOf(`/proc/${pid}/stat`)

/** The same of its main thread, and of all others: in Node the helpers of V8, mostly for garbage collection. */
export const threadSeconds = (pid: number): { readonly main: number; readonly helpers: number } => {
  const main = cpuOf(`/proc/${pid}/task/${pid}/stat`)
  const all = readdirSync(`/proc/${pid}/task`).reduce(
    (sum, id) => sum + cpuOf(`/proc/${pid}/task/${id}/stat`),
    0,
  )
  return { main, helpers: all - main }
}

/** Resident memory in MiB. */
export const residentMiB = (pid: number): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/** Proportional share of memory in MiB: shared pages are divided among their processes. */
export const proportionalMiB = (pid: number): number => {
  try {
    return Number(/Pss:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/** Resident memory in MiB without mapped files: a database that is read through a mapping grows by what is stored. */
export const anonymousMiB = (pid: number): number => {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/** CPU seconds of each named process during `run`. */
export const cpuDuring = async <T>(pids: Readonly<Record<string, number>>, run: () => Promise<T>) => {
  const before = Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)] as const)
  const result = await run()
  const used = Object.fromEntries(before.map(([name, seconds]) => [name, cpuSeconds(pids[name]!) - seconds]))
  return { result, used }
}
