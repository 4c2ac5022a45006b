import { startSidevault } from '../kit/sidevault.ts'
import { httpRequest, load } from './load.ts'

export interface ApiFigures {
  readonly tokens: number
  readonly concurrency: number
  readonly createsPerSecond: number
  readonly createP50: number
  readonly readsPerSecond: number
  readonly readP50: number
  readonly readP99: number
  readonly searchesPerSecond: number
  readonly searchP50: number
}

/** Fills a vault through `/tokenize` in hundreds, then measures creates, reads by id and searches through the edge. */
export const benchApi = async (options: {
  sizes: readonly number[]
  seconds: number
  concurrencies: readonly number[]
}) => {
  const sidevault = await startSidevault({ env: { SIDEVAULT_LOG_LEVEL: 'warn' } })
  const figures: ApiFigures[] = []
  const bulk: { tokens: number; perSecond: number }[] = []
  try {
    const key = await sidevault.application({ permissions: ['token:create', 'token:read', 'token:search'] })
    const headers = { 'content-type': 'application/json', 'svc-api-key': key }
    const ids: string[] = []
    let stored = 0
    for (const size of options.sizes) {
      const started = performance.now()
      const before = stored
      const lane = async () => {
        while (stored < size) {
          const first = stored
          stored += 100
          const body = Array.from({ length: 100 }, (_, i) => `value ${first + i}`)
          const answer = await sidevault.call('POST', '/tokenize', { key, body })
          if (answer.status !== 200)
            throw new Error(`tokenize answered ${answer.status}: ${answer.text.slice(0, 200)}`)
          if (ids.length < 5000) ids.push(...answer.json)
          if (stored % 100_000 === 0) process.stderr.write(`  ${stored.toLocaleString('en')} tokens stored\n`)
        }
      }
      await Promise.all(Array.from({ length: 8 }, lane))
      bulk.push({ tokens: stored, perSecond: (stored - before) / ((performance.now() - started) / 1000) })
      const marker = `needle-${size}`
      for (let i = 0; i < 5; i++)
        await sidevault.call('POST', '/tokens', {
          key,
          body: { data: marker, search_indexes: ['{{ data }}'] },
        })
      for (const concurrency of options.concurrencies) {
        const at = { host: '127.0.0.1', port: sidevault.port, concurrency, seconds: options.seconds }
        const creates = await load({
          ...at,
          requests: [
            httpRequest(
              'POST',
              '/tokens',
              headers,
              '{"type":"card","data":{"number":"4242424242424242","expiration_month":1,"expiration_year":2031}}',
            ),
          ],
        })
        const reads = await load({
          ...at,
          requests: ids.map((id) => httpRequest('GET', `/tokens/${id}`, headers)),
        })
        const searches = await load({
          ...at,
          requests: [
            httpRequest(
              'POST',
              '/v2/tokens/search',
              headers,
              JSON.stringify({ query: `data:"${marker}"`, size: 5 }),
            ),
          ],
        })
        const failures = creates.failures + reads.failures + searches.failures
        if (failures > 0)
          throw new Error(`${failures} requests failed at ${size} tokens, concurrency ${concurrency}`)
        figures.push({
          tokens: size,
          concurrency,
          createsPerSecond: creates.perSecond,
          createP50: creates.p50,
          readsPerSecond: reads.perSecond,
          readP50: reads.p50,
          readP99: reads.p99,
          searchesPerSecond: searches.perSecond,
          searchP50: searches.p50,
        })
      }
    }
    return { figures, bulk }
  } finally {
    await sidevault.stop()
  }
}
