/**
 * Creates, reads and searches through the edge on a PostgreSQL of our own whose commits are on disk: `node
 * test/bench/postgres.ts [seconds]`, with ENVOY_BIN set. The server shares the machine, and its CPU counts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { startPostgres } from '../kit/postgres.ts'
import { benchSidevault } from './api.ts'
import { UNTIL_STORED } from './cpu.ts'
import { table } from './report.ts'

const seconds = Number(process.argv[2] ?? 5)
const server = await startPostgres({
  own: true,
  durable: true,
  settings: { shared_buffers: '256MB', max_wal_size: '4GB' },
})

/** All processes of the server, by number: backends name their database. */
const backends = (): Record<string, number> => {
  const processes: Record<string, number> = {}
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      if (/^postgres: (sidevault_test|walwriter|checkpointer|background)/.test(command))
        processes[`postgres ${pid}`] = Number(pid)
    } catch {
      // It has just ended.
    }
  return processes
}

/** Parts by kind. */
const summed = (cpu: Readonly<Record<string, number>>): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {}
  for (const [name, used] of Object.entries(cpu)) {
    const kind = name.split(' ')[0] as string
    sums[kind] = (sums[kind] ?? 0) + used
  }
  return sums
}

try {
  const { figures, bulk } = await benchSidevault(
    { sizes: [10_000], seconds, warmSeconds: 10, concurrencies: [8, 32] },
    { name: 'PostgreSQL', env: { SIDEVAULT_STORE: await server.database() }, beside: backends },
  )
  const text = table(
    ['operation', 'concurrency', 'requests/s', 'p50 ms', 'p99 ms', 'CPU s per 1,000', 'of which'],
    figures.map(({ operation, concurrency, perSecond, p50, p99, cpu }) => {
      const parts = summed(cpu)
      const total = Object.values(parts).reduce((sum, used) => sum + used, 0)
      const shown = Object.entries(parts)
        .filter(([, used]) => used >= 0.01)
        .map(([name, used]) => `${name} ${used.toFixed(3)}`)
      return [
        operation,
        concurrency,
        Math.round(perSecond).toLocaleString('en'),
        p50.toFixed(2),
        p99.toFixed(2),
        total.toFixed(3),
        shown.join(', '),
      ]
    }),
  )
  const [{ perSecond } = { perSecond: 0 }] = bulk
  process.stdout.write(
    `${text}\n\n${UNTIL_STORED}\n\n/tokenize in hundreds: ${Math.round(perSecond).toLocaleString('en')} tokens/s\n`,
  )
} finally {
  await server.close()
}
