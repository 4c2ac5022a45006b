import t from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { startDestination } from '../kit/destination.ts'
import { startDns } from '../kit/dns.ts'
import { PROBES } from '../kit/forbidden-addresses.ts'
import { startTestService } from '../kit/service.ts'

const authority = await createAuthority()
const destination = await startDestination(await authority.issue(['good.test']))
const dns = await startDns()
t.teardown(() => Promise.all([destination.close(), dns.close()]))
dns.set('good.test', { a: ['127.0.0.1'] })
dns.set('inside.test', { a: [PROBES[1]] })

const service = await startTestService(t, {
  outbound: {
    allow: ['127.0.0.0/8'],
    ports: '*',
    resolvers: [{ address: '127.0.0.1', port: dns.port }],
    trust: authority.pem,
  },
})
const key = await service.application({ permissions: ['token:use'] })
const run = async (code: string) => {
  const body = { name: 'R', code: `module.exports = async (req) => { ${code} }` }
  const { json } = await service.call('POST', '/reactors', { body })
  return service.call('POST', `/reactors/${json.id}/react`, { key, body: { args: {} } })
}
const url = (path = '') => `https://good.test:${destination.port}${path}`

t.test('code in the sandbox reaches a destination through the service', async (t) => {
  const { status, json } = await run(`
    const response = await fetch('${url('/charge?a=b')}', {
      method: 'POST', headers: { 'X-Sent': 'yes' }, body: JSON.stringify({ amount: 1 }),
    })
    const echoed = await response.json()
    return { raw: { ok: response.ok, from: response.headers.get('x-from'), method: echoed.method, path: echoed.path } }`)
  t.equal(status, 200)
  t.strictSame(json.raw, { ok: true, from: 'destination', method: 'POST', path: '/charge?a=b' })
  const [received] = destination.received.splice(0)
  t.match(received, { headers: { 'x-sent': 'yes' } })
  t.equal(received?.body?.toString(), '{"amount":1}')
})

t.test(
  'a denied destination is an error that code can catch, and reveals nothing of its target',
  async (t) => {
    const { json } = await run(`
    const errors = []
    for (const url of ['https://inside.test/', 'https://${PROBES[0]}/', 'http://good.test/', 'https://nowhere.test/'])
      await fetch(url).catch((error) => errors.push(error instanceof Error))
    return { raw: errors }`)
    t.strictSame(json.raw, [true, true, true, true])
    t.equal(destination.received.length, 0)
  },
)

t.test('an invocation may make 50 requests, concurrent or sequential', async (t) => {
  const { json } = await run(`
    const responses = await Promise.allSettled(Array.from({ length: 60 }, () => fetch('${url('/status/204')}')))
    return { raw: responses.filter(({ status }) => status === 'fulfilled').length }`)
  t.equal(json.raw, 50)
  t.equal(destination.received.splice(0).length, 50)
})

t.test(
  'responses above the budget of an invocation are aborted, and the next has its own budget',
  async (t) => {
    const flood = `
    const status = () => fetch('${url('/large?bytes=3145728')}').then(({ status }) => status, ({ status }) => status)
    const responses = await Promise.all(Array.from({ length: 12 }, status))
    return { raw: { complete: responses.filter((status) => status === 200).length, rejected: responses.filter((status) => status === 413).length } }`
    for (let times = 0; times < 3; times++) {
      const { json } = await run(flood)
      t.ok(json.raw.complete <= 5, `${json.raw.complete} responses of 3 MiB`)
      t.equal(json.raw.complete + json.raw.rejected, 12)
    }
    const { json } = await run(`return { raw: (await fetch('${url('/large?bytes=3145728')}')).status }`)
    t.equal(json.raw, 200)
    destination.received.length = 0
  },
)

t.test('a request is aborted when its invocation ends', async (t) => {
  const { json } = await service.call('POST', '/reactors', {
    body: { name: 'R', code: `module.exports = () => fetch('${url('/slow?ms=60000')}')` },
  })
  const sent = { key, body: { timeout_ms: 500 } }
  t.equal((await service.call('POST', `/reactors/${json.id}/react`, sent)).status, 400)
})
