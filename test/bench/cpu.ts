import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sidevault } from '../kit/sidevault.ts'

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

type Pids = Readonly<Record<string, number>>

/** CPU seconds of each named process from now to a call. */
const cpuFrom = (pids: Pids) => {
  const before = Object.entries(pids).map(([name, pid]) => [name, pid, cpuSeconds(pid)] as const)
  return () => Object.fromEntries(before.map(([name, pid, seconds]) => [name, cpuSeconds(pid) - seconds]))
}

/** CPU seconds of each named process during `run`. */
const cpuDuring = async <T>(pids: Pids, run: () => Promise<T>) => {
  const used = cpuFrom(pids)
  const result = await run()
  return { result, used: used() }
}

/** ms until the gateway has written the outcomes of the last calls: Envoy reports them every 0.25 s. */
const LAST_RECORDS_MS = 500
/** ms between two looks at the backlog. The first one nearly always finds it empty. */
const POLL_MS = 250
const LIMIT_MS = 120_000

/** Line below the figures of `cpuUntilStored`. */
export const UNTIL_STORED =
  'CPU counts until the audit backlog is empty: the database has the audit records of all measured calls.'

/**
 * Waits until the database has all audit records from before `time`. Returns the result of the last `look`, which is
 * called before each reading of the metrics.
 */
const untilStored = async <T>({ call }: Pick<Sidevault, 'call'>, time: number, look: () => T): Promise<T> => {
  while (Date.now() < time + LIMIT_MS) {
    const asked = Date.now()
    const looked = look()
    const { text } = await call('GET', '/metrics')
    const behind = Number(/^sidevault_audit_backlog_seconds (.+)$/m.exec(text)?.[1]) * 1000
    if (asked - behind >= time) return looked
    await delay(POLL_MS)
  }
  throw new Error('the audit backlog is not empty after two minutes')
}

/**
 * CPU seconds of each named process during `run`, and until the audit records of its calls have been ingested. Without
 * a service there are none. What came before is ingested first. Throws when that takes more than two minutes.
 */
export const cpuUntilStored = async <T>(
  service: Pick<Sidevault, 'call'> | undefined,
  pids: Pids,
  run: () => Promise<T>,
) => {
  if (service === undefined) return cpuDuring(pids, run)
  await untilStored(service, Date.now() - LAST_RECORDS_MS, () => undefined)
  const used = cpuFrom(pids)
  const result = await run()
  await delay(LAST_RECORDS_MS)
  const recorded = Date.now()
  await delay(POLL_MS)
  return { result, used: await untilStored(service, recorded, used) }
}
