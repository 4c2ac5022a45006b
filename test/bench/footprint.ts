import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Role } from '../../src/supervisor/messages.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { anonymousMiB, cpuSeconds, proportionalMiB, residentMiB } from './cpu.ts'
import { allBelow, titleOf } from './processes.ts'
import { table } from './report.ts'

/**
 * `node test/bench/footprint.ts [--role gateway] [--settle 30] [--idle 30] [--rounds 3] [--project <checkout>]` (with
 * `ENVOY_BIN`) prints memory of each process of an idle service, its CPU, the time of a second start, and of the
 * restart of a killed process.
 */
const {
  role,
  settle,
  idle,
  project,
  rounds: times,
} = parseArgs({
  options: {
    role: { type: 'string', default: 'all' },
    settle: { type: 'string', default: '30' },
    idle: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '3' },
    project: { type: 'string' },
  },
}).values

/** Of starts and restarts; 0: memory and CPU only. */
const rounds = Number(times)

const seconds = (ms: number) => (ms / 1000).toFixed(2)
const whole = (mib: number) => String(Math.round(mib))
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const sumOf = (pids: readonly number[], measure: (pid: number) => number): number =>
  pids.reduce((sum, pid) => sum + measure(pid), 0)

const dataDir = mkdtempSync(join(tmpdir(), 'sidevault-footprint-'))
const options = { dataDir, role: role as Role, ...(project === undefined ? {} : { project }) }

const startTimes = async (): Promise<readonly number[]> => {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const began = performance.now()
    const again = await startSidevault(options)
    times.push(performance.now() - began)
    await again.stop()
  }
  return times
}

/** Milliseconds until `/readyz` is 200 again after a process was killed. */
const restart = async (service: Sidevault, title: RegExp): Promise<number> => {
  const pid = Object.values(allBelow(service.pid)).find((child) => title.test(titleOf(child)))
  if (pid === undefined) throw new Error(`no process ${title}`)
  const began = performance.now()
  process.kill(pid, 'SIGKILL')
  for (;;) {
    const isBack = Object.values(allBelow(service.pid)).some(
      (child) => child !== pid && title.test(titleOf(child)),
    )
    const response = isBack ? await service.call('GET', '/readyz').catch(() => undefined) : undefined
    if (response?.status === 200) return performance.now() - began
    await setTimeout(10)
  }
}

// The admin process creates schema and keys.
await (await startSidevault({ ...options, role: 'all' })).stop()
const first = await startSidevault(options)
await setTimeout(1000 * Number(settle))
const pids = Object.values(allBelow(first.pid))
const before = pids.map(cpuSeconds)
await setTimeout(1000 * Number(idle))
const used = pids.map((pid, index) => cpuSeconds(pid) - (before[index] ?? 0))
const rows = pids.map((pid, index) => [
  titleOf(pid).slice(0, 40),
  ...[proportionalMiB, residentMiB, anonymousMiB].map((measure) => whole(measure(pid))),
  String(readdirSync(`/proc/${pid}/task`).length),
  ((100 * (used[index] ?? 0)) / Number(idle)).toFixed(2),
])
const sums = [proportionalMiB, residentMiB, anonymousMiB].map((measure) => whole(sumOf(pids, measure)))
const percent = (100 * used.reduce((sum, cpu) => sum + cpu, 0)) / Number(idle)
process.stdout.write(
  table(
    ['process', 'PSS, MiB', 'RSS', 'anonymous', 'threads', '% of a core, idle'],
    [...rows, ['sum', ...sums, '', percent.toFixed(2)]],
  ),
)
process.stdout.write('\n')
const kinds = rounds === 0 ? [] : [/gateway/, ...(role === 'all' ? [/sidevault: admin/] : [])]
for (const kind of kinds) {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    times.push(await restart(first, kind))
    await setTimeout(10_500) // outside the window of the backoff
  }
  process.stdout.write(`back after a kill (${kind.source}): ${seconds(median(times))} s\n`)
}
await first.stop()
const starts = await startTimes()
if (rounds > 0)
  process.stdout.write(`second start: ${seconds(median(starts))} s (${starts.map(seconds).join(', ')})\n`)
rmSync(dataDir, { recursive: true, force: true })
