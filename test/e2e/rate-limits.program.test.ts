import t from 'tap'
import { noRedis, startRedis } from '../kit/redis.ts'
import { type Response, startSidevault } from '../kit/sidevault.ts'

/** A bucket of twenty a minute gains one in three seconds. */
const refilled = (since: number): number => (performance.now() - since) / 3_000 + 1

t.test(
  'rate limits apply at the edge, to the address of the connection, whatever headers claim',
  async (t) => {
    const began = performance.now()
    const service = await startSidevault({
      env: { SIDEVAULT_RATE_LIMIT_PER_ADDRESS: '20', SIDEVAULT_RATE_LIMIT_PER_KEY: '1000' },
    })
    t.teardown(() => service.stop())
    const key = await service.application({ permissions: ['token:use'] })
    const statuses = async (path: string, headers: Record<string, string>) => {
      const responses = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          service.call('GET', path, {
            key,
            headers: {
              ...headers,
              'x-forwarded-for': `10.0.0.${i}`,
              'x-sidevault-client-address': `10.0.1.${i}`,
            },
          }),
        ),
      )
      return responses
    }
    const isServed = (responses: readonly Response[], least: number, what: string) => {
      const served = responses.filter(({ status }) => status === 200).length
      t.ok(served >= least && served <= least + refilled(began), `${served} served: ${what}`)
      t.equal(responses.filter(({ status }) => status === 429).length, responses.length - served)
    }
    const managed = await statuses('/permissions', {})
    isServed(managed, 19, 'one was the application')
    const rejected = managed.find(({ status }) => status === 429)
    t.ok(Number(rejected?.headers.get('retry-after')) >= 1)

    const proxied = await statuses('/proxy', { 'svc-proxy-url': 'https://demo.sidevault.test' })
    isServed(proxied, 20, 'each process counts by itself')
    const limited = proxied.find(({ status }) => status === 429)
    t.match(limited?.json, { proxy_error: { status: 429 } })
    t.ok(Number(limited?.headers.get('retry-after')) >= 1)
    const echoed = proxied.find(({ status }) => status === 200)!
    t.notMatch(echoed.text, /client-address/, 'a destination learns nothing of it')
    t.equal((await service.call('GET', '/healthz')).status, 200)
  },
)

t.test(
  'with Redis all processes share limits, and each counts by itself while Redis is down',
  { skip: await noRedis() },
  async (t) => {
    const redis = await startRedis(t)
    const service = await startSidevault({
      env: { SIDEVAULT_RATE_LIMIT_PER_KEY: '20', SIDEVAULT_REDIS_URL: redis.url },
    })
    t.teardown(() => service.stop())
    const began = performance.now()
    /** How many of fifteen calls to the admin process and fifteen to a gateway were served. */
    const served = async (): Promise<number> => {
      const key = await service.application({ permissions: ['token:use'] })
      const responses = await Promise.all(
        Array.from({ length: 15 }, () => [
          service.call('GET', '/permissions', { key }),
          service.call('GET', '/proxy', {
            key,
            headers: { 'svc-proxy-url': 'https://demo.sidevault.test' },
          }),
        ]).flat(),
      )
      const statuses = responses.map(({ status }) => status)
      t.equal(statuses.filter((status) => status !== 429 && status !== 200).length, 0)
      return statuses.filter((status) => status === 200).length
    }
    const own = async (): Promise<number> => {
      const metrics = (await service.call('GET', '/metrics')).text
      return Number(/^sidevault_rate_limit_checks_total\{backend="process"\} (\d+)/m.exec(metrics)?.[1] ?? 0)
    }
    const together = await served()
    // On a machine too busy to respond within the timeout, each replica counts alone.
    const more = refilled(began) + (await own())
    t.ok(together >= 20 && together <= 20 + more, `${together} served`)
    await redis.kill()
    t.equal(await served(), 30)
    t.ok((await own()) >= 30)
    t.notMatch(service.stderr(), /"level":"error"/)
  },
)
