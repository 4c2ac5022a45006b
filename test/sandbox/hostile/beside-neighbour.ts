import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Outcome } from '../../../src/sandbox/types.ts'
import { LONG } from '../../kit/long.ts'
import { openSandbox } from '../kit.ts'
import { endOf, type Hostile } from './program.ts'

const LIMITS = { resultBytes: 2 ** 20, asyncCalls: 16 }
/**
 * CPU limit of programs that may end by it. The limit applies to the time of entries, which is longer on a busy
 * machine.
 */
const CPU_MS = 100
const UNLIMITED_CPU_MS = 20_000
const UNLIMITED_WALL_MS = 120_000
const FETCHED = {
  url: 'https://a.test/',
  status: 200,
  statusText: '',
  redirected: false,
  headers: [],
  base64: '',
}
const HOST = { sdk: true, call: async (method: string) => (method === 'fetch' ? FETCHED : { id: 'x' }) }
const NEIGHBOUR = 'module.exports = async (req) => ({ sum: req.a + req.b })'
/** A child's limit, with what it may exceed it by between two measurements. */
const MAX_CHILD_MB = 500
const MAX_GROWTH_MB = 150
const SLOWEST_MS = 10_000
/** Milliseconds between two requests of the neighbour. */
const PAUSE_MS = 50

const rssMb = (pid: number): number => {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4096) / 2 ** 20
  } catch {
    return 0 // it has exited
  }
}

/**
 * Runs the programs in sequence, each to one of its permitted outcomes, while another tenant's requests must all
 * succeed. Measures the memory of the children and of this process.
 */
export const besideNeighbour = async (
  t: Test,
  groups: Readonly<Record<string, readonly Hostile[]>>,
  { cpuMs = CPU_MS, wallMs = UNLIMITED_WALL_MS }: { readonly cpuMs?: number; readonly wallMs?: number } = {},
) => {
  const { run, pids } = await openSandbox(t)
  const before = rssMb(process.pid)
  let largest = 0
  let growth = 0
  const watching = setInterval(() => {
    for (const pid of pids) largest = Math.max(largest, rssMb(pid))
    growth = Math.max(growth, rssMb(process.pid) - before)
  }, 25)
  t.teardown(() => clearInterval(watching))

  const failures: unknown[] = []
  let stopped = false
  let served = 0
  let slowest = 0
  const neighbour = (async () => {
    while (!stopped) {
      const outcome = await run(NEIGHBOUR, { tenantId: 'neighbour', argument: { a: served, b: 1 } })
      if (outcome.kind !== 'returned' || outcome.json !== `{"sum":${served + 1}}`) failures.push(outcome)
      served++
      slowest = Math.max(slowest, outcome.timing.wall)
      await setTimeout(PAUSE_MS)
    }
  })()

  /**
   * Outcome of a hostile program, with limits of CPU and wall time only where it may end by them: a busy machine
   * exceeds them.
   */
  const outcomeOf = async (code: string, ends: Hostile['ends']): Promise<Outcome> => {
    const outcome = await run(code, {
      tenantId: 'hostile',
      host: HOST,
      limits: {
        ...LIMITS,
        cpuMs: ends.includes('cpu') ? cpuMs : UNLIMITED_CPU_MS,
        wallMs: ends.includes('wall') ? wallMs : UNLIMITED_WALL_MS,
      },
    })
    // its wall time ended before the child that the previous program had killed was replaced
    return endOf(outcome) === 'overload' ? outcomeOf(code, ends) : outcome
  }

  let programs = 0
  for (const [group, rows] of Object.entries(groups))
    for (const { name, code, ends, json } of rows) {
      programs++
      const servedBefore = served
      const outcome = await outcomeOf(code, ends)
      const end = endOf(outcome)
      const reported = { outcome: JSON.stringify(outcome).slice(0, 500) }
      t.ok(ends.includes(end), `${group}: ${name}: ${end}`, reported)
      if (outcome.kind === 'returned' && json !== undefined)
        t.equal(outcome.json, json, `${group}: ${name}: its result`)
      // at least one request of the neighbour beside each program, however slow the machine is
      while (served === servedBefore) await setTimeout(PAUSE_MS)
    }

  stopped = true
  await neighbour
  t.same(failures, [], 'none of the neighbour’s requests failed')
  t.comment(`the neighbour was served ${served} times beside ${programs} programs`)
  if (!LONG) return
  t.ok(slowest < SLOWEST_MS, `its slowest request took ${Math.round(slowest)} ms`)
  t.ok(largest < MAX_CHILD_MB, `the largest child had ${Math.round(largest)} MiB`)
  t.ok(growth < MAX_GROWTH_MB, `this process grew by ${Math.round(growth)} MiB`)
}
