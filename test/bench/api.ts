import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { startBareApi } from './bare-api.ts'
import { cpuUntilStored } from './cpu.ts'
import { httpRequest, type LoadResult, load, warm } from './load.ts'
import { partsBelow } from './processes.ts'

export interface ApiFigures {
  readonly target: string
  /** Tokens stored before the measuring. */
  readonly tokens: number
  readonly concurrency: number
  readonly operation: 'create' | 'read' | 'search'
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** CPU seconds per 1,000 requests of each process. */
  readonly cpu: Readonly<Record<string, number>>
}

interface Target {
  readonly name: string
  readonly port: number
  /** Absent: its calls have no audit records. */
  readonly service?: Sidevault
  readonly pids: Readonly<Record<string, number>>
  readonly requests: Readonly<Partial<Record<ApiFigures['operation'], readonly Buffer[]>>>
}

interface Options {
  readonly sizes: readonly number[]
  /** Each operation is asked for so long at most before it is measured for the first time. */
  readonly warmSeconds: number
  readonly seconds: number
  readonly concurrencies: readonly number[]
}

export const CARD =
  '{"type":"card","data":{"number":"4242424242424242","expiration_month":1,"expiration_year":2031}}'
export const JSON_BODY = { 'content-type': 'application/json' }
/** Different tokens read in turn. */
const READ = 5000

const measure = async (
  { name, port, service, pids, requests }: Target,
  tokens: number,
  { concurrencies, seconds }: Options,
): Promise<ApiFigures[]> => {
  const figures: ApiFigures[] = []
  for (const concurrency of concurrencies)
    for (const operation of ['create', 'read', 'search'] as const) {
      const sent = requests[operation]
      if (sent === undefined) continue
      const { result, used } = await cpuUntilStored(service, pids, () =>
        load({ host: '127.0.0.1', port, requests: sent, concurrency, seconds }),
      )
      if (result.failures > 0)
        throw new Error(`${name}: ${result.failures} of ${operation} failed at ${tokens} tokens`)
      figures.push({
        target: name,
        tokens,
        concurrency,
        operation,
        ...latencies(result),
        cpu: per1000(used, result),
      })
    }
  return figures
}

const warmed = async ({ port, requests }: Target, { warmSeconds }: Options): Promise<void> => {
  for (const each of Object.values(requests))
    await warm({ host: '127.0.0.1', port, requests: each, seconds: warmSeconds })
}

const latencies = ({ perSecond, p50, p99 }: LoadResult) => ({ perSecond, p50, p99 })

const per1000 = (used: Readonly<Record<string, number>>, { requests }: LoadResult) =>
  Object.fromEntries(Object.entries(used).map(([name, seconds]) => [name, (seconds / requests) * 1000]))

/** Stores tokens by `/tokenize` in hundreds, eight at a time; some of their ids, and how fast it went. */
export const fill = async (sidevault: Sidevault, key: string, from: number, to: number) => {
  const ids: string[] = []
  const began = performance.now()
  let stored = from
  const lane = async () => {
    while (stored < to) {
      const first = stored
      stored += 100
      const body = Array.from({ length: 100 }, (_, i) => `value ${first + i}`)
      const response = await sidevault.call('POST', '/tokenize', { key, body })
      if (response.status !== 200)
        throw new Error(`tokenize returned ${response.status}: ${response.text.slice(0, 200)}`)
      if (ids.length < READ) ids.push(...response.json)
      if (stored % 100_000 === 0) process.stderr.write(`  ${stored.toLocaleString('en')} tokens stored\n`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  return { ids, perSecond: (stored - from) / ((performance.now() - began) / 1000) }
}

const bareFigures = async (options: Options): Promise<ApiFigures[]> => {
  const bare = await startBareApi()
  try {
    const { port, pids } = bare
    const create = [httpRequest('POST', '/tokens', JSON_BODY, CARD)]
    const ids: string[] = []
    for (let i = 0; i < 100; i++) {
      const response = await fetch(`http://127.0.0.1:${port}/tokens`, {
        method: 'POST',
        headers: JSON_BODY,
        body: CARD,
      })
      ids.push(((await response.json()) as { id: string }).id)
    }
    const read = ids.map((id) => httpRequest('GET', `/tokens/${id}`, {}))
    const target = { name: 'bare', port, pids, requests: { create, read } }
    await warmed(target, options)
    return await measure(target, ids.length, options)
  } finally {
    await bare.stop()
  }
}

interface Under {
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
  /** Other processes whose CPU counts. */
  readonly beside?: () => Readonly<Record<string, number>>
}

/** Creates, reads by id and searches through the edge at each size. */
export const benchSidevault = async (options: Options, { name, env = {}, beside = () => ({}) }: Under) => {
  const sidevault = await startSidevault({
    env: { SIDEVAULT_LOG_LEVEL: 'warn', SIDEVAULT_RATE_LIMIT_GUESSES: 'none', ...env },
  })
  const figures: ApiFigures[] = []
  const bulk: { tokens: number; perSecond: number }[] = []
  try {
    const key = await sidevault.application({ permissions: ['token:create', 'token:read', 'token:search'] })
    const headers = { ...JSON_BODY, 'svc-api-key': key }
    let stored = 0
    for (const size of options.sizes) {
      const { ids, perSecond } = await fill(sidevault, key, stored, size)
      bulk.push({ tokens: size, perSecond })
      stored = size
      const marker = `needle-${size}`
      for (let i = 0; i < 5; i++)
        await sidevault.call('POST', '/tokens', {
          key,
          body: { data: marker, search_indexes: ['{{ data }}'] },
        })
      const search = JSON.stringify({ query: `data:"${marker}"`, size: 5 })
      const target = {
        name,
        port: sidevault.port,
        service: sidevault,
        pids: { ...partsBelow(sidevault.pid), ...beside() },
        requests: {
          create: [httpRequest('POST', '/tokens', headers, CARD)],
          read: ids.map((id) => httpRequest('GET', `/tokens/${id}`, headers)),
          search: [httpRequest('POST', '/v2/tokens/search', headers, search)],
        },
      }
      if (figures.length === 0) await warmed(target, options)
      figures.push(...(await measure(target, size, options)))
    }
    return { figures, bulk }
  } finally {
    await sidevault.stop()
  }
}

/** The same next to what an API can do here that does nothing else (`bare-api-process.ts`). */
export const benchApi = async (options: Options) => {
  const bare = await bareFigures(options)
  const { figures, bulk } = await benchSidevault(options, { name: 'Sidevault' })
  return { figures: [...bare, ...figures], bulk }
}
