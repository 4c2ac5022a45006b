/** Cost of a create and a read among many stored tokens with random ids, beside the same among few. */
import { startSidevault } from '../kit/sidevault.ts'
import { median } from './against.ts'
import { CARD, fill, JSON_BODY } from './api.ts'
import { cpuUntilStored, UNTIL_STORED } from './cpu.ts'
import { httpRequest, load, warm } from './load.ts'
import { partsBelow } from './processes.ts'
import { table } from './report.ts'

interface GrowthOptions {
  /** Tokens stored before the measuring: few, and many. */
  readonly sizes: readonly [number, number]
  readonly rounds: number
  /** Of one measurement. */
  readonly seconds: number
  readonly warmSeconds: number
}

const OPERATIONS = ['create', 'read'] as const

/** A service that holds `stored` tokens. */
const startTarget = async (stored: number) => {
  const sidevault = await startSidevault({ env: { SIDEVAULT_LOG_LEVEL: 'warn' } })
  const key = await sidevault.application({ permissions: ['token:create', 'token:read'] })
  const { ids } = await fill(sidevault, key, 0, stored)
  const headers = { ...JSON_BODY, 'svc-api-key': key }
  const requests = {
    create: [httpRequest('POST', '/tokens', headers, CARD)],
    read: ids.map((id) => httpRequest('GET', `/tokens/${id}`, headers)),
  }
  return { sidevault, stored, requests, pids: partsBelow(sidevault.pid) }
}

/** CPU of a call (µs, all processes) at 8 calls at once, both services in turns. */
export const benchGrowth = async (options: GrowthOptions): Promise<string> => {
  const targets: Awaited<ReturnType<typeof startTarget>>[] = []
  try {
    for (const size of options.sizes) targets.push(await startTarget(size))
    const rows = []
    for (const operation of OPERATIONS) {
      const target = (at: number) => ({
        host: '127.0.0.1',
        port: targets[at]!.sidevault.port,
        requests: targets[at]!.requests[operation],
      })
      for (const at of targets.keys()) await warm({ ...target(at), seconds: options.warmSeconds })
      const rounds: number[][] = []
      for (let round = 0; round < options.rounds; round++) {
        const costs: number[] = []
        for (const [at, { sidevault, pids }] of targets.entries()) {
          const { result, used } = await cpuUntilStored(sidevault, pids, () =>
            load({ ...target(at), concurrency: 8, seconds: options.seconds }),
          )
          const seconds = Object.values(used).reduce((sum, cpu) => sum + cpu, 0)
          costs.push((seconds / result.requests) * 1e6)
        }
        rounds.push(costs)
      }
      const ratios = rounds.map(([few = 0, many = 0]) => many / few)
      rows.push([
        operation,
        ...targets.map((_, at) => median(rounds.map((costs) => costs[at] ?? 0)).toFixed(0)),
        median(ratios).toFixed(2),
        `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
      ])
    }
    const sizes = targets.map(({ stored }) => `µs, ${stored.toLocaleString('en')} stored`)
    return `${table(['operation', ...sizes, 'ratio', 'of the rounds'], rows)}\n\n${UNTIL_STORED}`
  } finally {
    for (const { sidevault } of targets) await sidevault.stop()
  }
}
