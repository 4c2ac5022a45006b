import t from 'tap'
import { startSidevault } from '../kit/sidevault.ts'

t.test(
  'rate limits hold at the edge, for the address that connected and whatever the caller says',
  async (t) => {
    const service = await startSidevault({
      env: { SIDEVAULT_RATE_LIMIT_ADDRESS: '20', SIDEVAULT_RATE_LIMIT_KEY: '1000' },
    })
    t.teardown(() => service.stop())
    const key = await service.application({ permissions: ['token:use'] })
    const statuses = async (path: string, headers: Record<string, string>) => {
      const answers = await Promise.all(
        Array.from({ length: 25 }, (_, i) =>
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
      return answers
    }
    const managed = await statuses('/permissions', {})
    t.equal(managed.filter(({ status }) => status === 200).length, 19, 'one was the application')
    t.equal(managed.filter(({ status }) => status === 429).length, 6)
    const refused = managed.find(({ status }) => status === 429)
    t.ok(Number(refused?.headers.get('retry-after')) >= 1)

    const proxied = await statuses('/proxy', { 'svc-proxy-url': 'https://demo.sidevault.test' })
    t.equal(proxied.filter(({ status }) => status === 200).length, 20, 'each process counts by itself')
    const limited = proxied.find(({ status }) => status === 429)
    t.match(limited?.json, { proxy_error: { status: 429 } })
    t.ok(Number(limited?.headers.get('retry-after')) >= 1)
    const echoed = proxied.find(({ status }) => status === 200)!
    t.notMatch(echoed.text, /client-address/, 'a destination learns nothing of it')
    t.equal((await service.call('GET', '/healthz')).status, 200)
  },
)
