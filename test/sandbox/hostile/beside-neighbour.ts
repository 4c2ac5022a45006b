import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Outcome } from '../../../src/sandbox/types.ts'
import { LONG } from '../../kit/long.ts'
import { openSandbox } from '../kit.ts'
import { endOf, type Hostile } from './program.ts'

const LIMITS = { resultBytes: 2 ** 20, asyncCalls: 16 }
/** CPU limit of programs that may end by it. The limit applies to the time of entries, which is longer on a busy machine. */
const CPU_MS = 250
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
/** A child's bound, and what it may be over before that is seen. */
const MAX_CHILD_MB = 500
const MAX_GROWTH_MB = 150
const SLOWEST_MS = 10_000
/** Between two requests of the neighbour: some come during each program, and the machine is not theirs alone. */
const PAUSE_MS = 25

const rssMb = (pid: number): number => {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4096) / 2 ** 20
  } catch {
    return 0 // it has ended
  }
}

/**
 * Runs the programs one after the other, each to one of its ends, while another tenant's requests come one after the other
 * and all succeed; looks at the memory of the children and of this process meanwhile.
 */
export const besideNeighbour = async (
  t: Test,
  groups: Readonly<Record<string, readonly Hostile[]>>,
  wallMs = UNLIMITED_WALL_MS,
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

  /** Outcome of a hostile program, with limits of CPU and wall time only where it may end by them: a busy machine exceeds them. */
  const outcomeOf = async (code: string, ends: Hostile['ends']): Promise<Outcome> => {
    const outcome = await run(code, {
      tenantId: 'hostile',
      host: HOST,
      limits: {
        ...LIMITS,
        cpuMs: ends.includes('cpu') ? CPU_MS : UNLIMITED_CPU_MS,
        wallMs: ends.includes('wall') ? wallMs : UNLIMITED_WALL_MS,
      },
    })
    // its time was over before the child that the last program ended had been replaced
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
      // However few of its requests the machine has time for: each program lets one through.
      while (served === servedBefore) await setTimeout(PAUSE_MS)
    }

  stopped = true
  await neighbour
  t.same(failures, [], 'none of the neighbour’s requests failed')
  t.comment(`the neighbour was served ${served} times beside ${programs} programs`)
  if (!LONG) return
  t.ok(slowest < SLOWEST_MS, `it waited ${Math.round(slowest)} ms at most`)
  t.ok(largest < MAX_CHILD_MB, `no child held more than ${Math.round(largest)} MiB`)
  t.ok(growth < MAX_GROWTH_MB, `this process grew by ${Math.round(growth)} MiB at most`)
}
