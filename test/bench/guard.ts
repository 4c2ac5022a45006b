/** What the response guard costs a call. `npm run bench -- guard [--quick]`. */
import { startSidevault } from '../kit/sidevault.ts'
import { cpuDuring } from './cpu.ts'
import { startDestination } from './destination.ts'
import { httpRequest, load, warm } from './load.ts'
import { partsBelow } from './processes.ts'
import { bodyWith } from './proxy.ts'
import { table } from './report.ts'

const MODES = ['off', 'report', 'replace', 'block'] as const
const SIZES = [1_000, 100_000]
const CONCURRENCY = 8

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

interface GuardBenchOptions {
  readonly rounds: number
  readonly seconds: number
  readonly warmSeconds: number
}

/** One token in a body of 1 KB, eight calls at once; responses of 1 and 100 KB without the value; modes in turns. */
export const benchGuard = async ({ rounds, seconds, warmSeconds }: GuardBenchOptions): Promise<string> => {
  const destination = await startDestination()
  const sidevault = await startSidevault({ env: destination.env })
  try {
    const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
    const token = await sidevault.call('POST', '/tokens', {
      key,
      body: {
        type: 'card',
        data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 },
      },
    })
    const body = bodyWith(`{{ ${token.json.id} | json: '$.number' }}`, 1024)
    const pids = partsBelow(sidevault.pid)
    const targets = SIZES.flatMap((size) =>
      MODES.map((mode) => ({
        size,
        mode,
        request: httpRequest(
          'POST',
          `/proxy/${size}/`,
          {
            'content-type': 'application/json',
            'svc-api-key': key,
            'svc-proxy-url': destination.url,
            'svc-proxy-guard': mode,
          },
          body,
        ),
        cost: [] as Record<string, number>[],
        p50: [] as number[],
      })),
    )
    const options = { host: '127.0.0.1', port: sidevault.port }
    for (const { request } of targets) await warm({ ...options, requests: [request], seconds: warmSeconds })
    for (let round = 0; round < rounds; round++)
      for (const target of targets) {
        const run = () => load({ ...options, requests: [target.request], concurrency: CONCURRENCY, seconds })
        const { result, used } = await cpuDuring(pids, run)
        if (result.failures > 0) throw new Error(`${result.failures} calls failed with mode ${target.mode}`)
        target.cost.push(
          Object.fromEntries(Object.entries(used).map(([name, s]) => [name, (s / result.requests) * 1_000])),
        )
        target.p50.push(result.p50)
      }
    const total = (cost: Readonly<Record<string, number>>) =>
      Object.values(cost).reduce((sum, value) => sum + value, 0)
    const rows = targets.map(({ size, mode, cost, p50 }) => {
      const off = targets.find((other) => other.size === size && other.mode === 'off')
      const ratios = cost.map((each, round) => total(each) / total(off?.cost[round] ?? {}))
      return [
        `${size / 1_000} KB`,
        mode,
        median(p50).toFixed(2),
        median(cost.map(total)).toFixed(3),
        median(ratios).toFixed(2),
        `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
        Object.keys(pids)
          .map((name) => `${name} ${median(cost.map((each) => each[name] ?? 0)).toFixed(2)}`)
          .join(', '),
      ]
    })
    return table(
      ['response', 'mode', 'p50 ms', 'CPU s per 1,000', 'beside off', 'of the rounds', 'of which'],
      rows,
    )
  } finally {
    await sidevault.stop()
    await destination.stop()
  }
}
