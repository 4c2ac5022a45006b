import { freePort, type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { median } from './against.ts'
import { startBareApi } from './bare-api.ts'
import { cpuUntilStored, UNTIL_STORED } from './cpu.ts'
import { httpRequest, load, warm } from './load.ts'
import { allBelow } from './processes.ts'
import { table } from './report.ts'

interface Options {
  readonly rounds: number
  /** Of one measurement. */
  readonly seconds: number
  readonly warmSeconds: number
  readonly concurrencies: readonly number[]
}

type Path = 'edge' | 'direct'

interface Target {
  readonly name: 'bare' | 'Sidevault'
  readonly path: Path
  readonly port: number
  /** Absent: its calls have no audit records. */
  readonly service?: Sidevault
  readonly pids: () => Readonly<Record<string, number>>
  readonly requests: Readonly<Record<string, readonly Buffer[]>>
}

const CARD =
  '{"type":"card","data":{"number":"4242424242424242","expiration_month":1,"expiration_year":2031}}'
const JSON_BODY = { 'content-type': 'application/json' }
/** Values of one call. */
const MANY = 20
const OPERATIONS = ['read', 'create', 'tokenize 20', 'detokenize 20'] as const

const bareTargets = async () => {
  const bare = await startBareApi()
  const ids: string[] = []
  for (let i = 0; i < 100; i++) {
    const sent = { method: 'POST', headers: JSON_BODY, body: CARD }
    const response = await fetch(`http://127.0.0.1:${bare.port}/tokens`, sent)
    ids.push(((await response.json()) as { id: string }).id)
  }
  const requests = {
    read: ids.map((id) => httpRequest('GET', `/tokens/${id}`, {})),
    create: [httpRequest('POST', '/tokens', JSON_BODY, CARD)],
  }
  const { envoy, api } = bare.pids
  const targets: Target[] = [
    { name: 'bare', path: 'edge', port: bare.port, pids: () => ({ envoy, api }), requests },
    { name: 'bare', path: 'direct', port: bare.directPort, pids: () => ({ api }), requests },
  ]
  return { targets, stop: bare.stop }
}

const sidevaultTargets = async () => {
  const directPort = await freePort()
  const sidevault = await startSidevault({ env: { SIDEVAULT_API_LISTEN: `127.0.0.1:${directPort}` } })
  const key = await sidevault.application({ permissions: ['token:create', 'token:read'] })
  const headers = { ...JSON_BODY, 'svc-api-key': key }
  const ids: string[] = []
  for (let i = 0; i < 200; i++)
    ids.push((await sidevault.call('POST', '/tokens', { key, body: JSON.parse(CARD) })).json.id)
  const values = Array.from({ length: MANY }, (_, i) => `value ${i}`)
  const expressions = ids.slice(0, MANY).map((id) => `{{ ${id} | json: '$.number' }}`)
  const requests = {
    read: ids.map((id) => httpRequest('GET', `/tokens/${id}`, headers)),
    create: [httpRequest('POST', '/tokens', headers, CARD)],
    'tokenize 20': [httpRequest('POST', '/tokenize', headers, JSON.stringify(values))],
    'detokenize 20': [httpRequest('POST', '/detokenize', headers, JSON.stringify(expressions))],
  }
  const pids = () => allBelow(sidevault.pid)
  const targets: Target[] = [
    { name: 'Sidevault', path: 'edge', port: sidevault.port, service: sidevault, pids, requests },
    { name: 'Sidevault', path: 'direct', port: directPort, service: sidevault, pids, requests },
  ]
  return { targets, stop: sidevault.stop }
}

interface Sample {
  readonly perSecond: number
  readonly p50: number
  /** µs of CPU of all processes for one call. */
  readonly cpu: number
}

const measure = async (
  { name, port, service, pids, requests }: Target,
  operation: string,
  concurrency: number,
  seconds: number,
): Promise<Sample> => {
  const sent = requests[operation] ?? []
  const { result, used } = await cpuUntilStored(service, pids(), () =>
    load({ host: '127.0.0.1', port, requests: sent, concurrency, seconds }),
  )
  if (result.failures > 0) throw new Error(`${name}, ${operation}: ${result.failures} failed`)
  const cpu = Object.values(used).reduce((sum, each) => sum + each, 0)
  return { perSecond: result.perSecond, p50: result.p50, cpu: (cpu / result.requests) * 1e6 }
}

/**
 * The management API through the edge and on the direct listener, beside a bare Fastify on the same paths. All take
 * turns in each round. A ratio is the median of those of the rounds.
 */
export const benchApiPaths = async (options: Options): Promise<string> => {
  const groups = [await bareTargets(), await sidevaultTargets()]
  const targets = groups.flatMap((group) => group.targets)
  const rows: (readonly (string | number)[])[] = []
  try {
    for (const operation of OPERATIONS) {
      const asked = targets.filter(({ requests }) => operation in requests)
      for (const { port, requests } of asked)
        await warm({
          host: '127.0.0.1',
          port,
          requests: requests[operation] ?? [],
          seconds: options.warmSeconds,
        })
      for (const concurrency of options.concurrencies) {
        const samples = new Map<Target, Sample[]>(asked.map((target) => [target, []]))
        for (let round = 0; round < options.rounds; round++)
          for (const target of round % 2 === 0 ? asked : asked.toReversed())
            samples.get(target)?.push(await measure(target, operation, concurrency, options.seconds))
        for (const target of asked) {
          const own = samples.get(target) ?? []
          const bare = asked.find(({ name, path }) => name === 'bare' && path === target.path)
          const ratio =
            bare &&
            median(own.map((sample, i) => sample.perSecond / (samples.get(bare)?.[i]?.perSecond ?? 0)))
          const middle = (member: keyof Sample) => median(own.map((sample) => sample[member]))
          rows.push([
            operation,
            concurrency,
            `${target.name}, ${target.path}`,
            Math.round(middle('perSecond')),
            middle('p50').toFixed(2),
            Math.round(middle('cpu')),
            ratio === undefined ? '' : ratio.toFixed(2),
          ])
        }
      }
    }
  } finally {
    for (const group of groups) await group.stop()
  }
  const figures = table(
    ['operation', 'concurrency', 'target', 'requests/s', 'p50 ms', 'CPU µs a call', 'rate × bare, same path'],
    rows,
  )
  return `${figures}\n\n${UNTIL_STORED}`
}
