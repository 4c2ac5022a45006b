import { createServer } from 'node:https'
import t, { type Test } from 'tap'
import { machineAddresses } from '../../src/control-plane/options.ts'
import { createOutbound } from '../../src/egress/fetch.ts'
import { AppError, type OutboundRequest } from '../../src/sdk/index.ts'
import { createAuthority } from '../kit/authority.ts'
import { startDestination } from '../kit/destination.ts'
import { startDns } from '../kit/dns.ts'
import { PROBES } from '../kit/forbidden-addresses.ts'
import { listenFor } from '../kit/listen.ts'

type OutboundOptions = Parameters<typeof createOutbound>[0]

const authority = await createAuthority()
const dns = await startDns()
const tls = await startDestination(await authority.issue(['good.test', 'other.test', 'mixed.test']))
const expired = await startDestination(await authority.issue(['good.test'], { expired: true }))
const plain = await startDestination(undefined)
t.teardown(async () => {
  await Promise.all([tls.close(), expired.close(), plain.close(), dns.close()])
})
for (const name of ['good.test', 'other.test', 'wrong-name.test']) dns.set(name, { a: ['127.0.0.1'] })

const EGRESS = { allow: ['127.0.0.0/8'], ports: '*' as const, http: false }

const outboundOf = (
  t: Test,
  egress: Partial<OutboundOptions['egress']> = {},
  more: Partial<OutboundOptions> = {},
) => {
  const outbound = createOutbound({
    egress: { ...EGRESS, resolvers: [{ address: '127.0.0.1', port: dns.port }], ...egress },
    trust: authority.pem,
    timeoutMs: 5_000,
    ...more,
  })
  t.teardown(() => outbound.close())
  return (url: string, request: Partial<OutboundRequest> = {}, signal = new AbortController().signal) =>
    outbound.fetch({ url, ...request }, signal)
}

const codeOf = async (response: Promise<unknown>): Promise<string> => {
  try {
    await response
    return 'responded'
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return thrown.code
  }
}

const at = (host: string, path = '/echo', port = tls.port) => `https://${host}:${port}${path}`

t.test('a request is sent unchanged, over verified TLS', async (t) => {
  const fetch = outboundOf(t)
  const response = await fetch(at('good.test', '/a?b=c'), {
    method: 'post',
    headers: [
      ['X-One', '1'],
      ['host', 'forged.test'],
      ['content-length', '3'],
      ['connection', 'close'],
    ],
    body: 'text',
  })
  t.equal(response.status, 200)
  t.equal(response.redirected, false)
  const [received] = tls.received.splice(0)
  t.match(received, {
    method: 'POST',
    path: '/a?b=c',
    headers: { 'x-one': '1', host: `good.test:${tls.port}` },
  })
  t.equal(received?.body?.toString(), 'text')
})

t.test('certificate and name are verified', async (t) => {
  const fetch = outboundOf(t)
  t.equal(await codeOf(fetch(at('wrong-name.test'))), 'destination_unreachable')
  t.equal(await codeOf(fetch(at('good.test', '/', expired.port))), 'destination_unreachable')
  t.equal(await codeOf(outboundOf(t, {}, { trust: '' })(at('good.test'))), 'destination_unreachable')
  t.equal(tls.received.length + expired.received.length, 0)
})

t.test('scheme, port, addresses and credentials of a URL are checked as for proxied requests', async (t) => {
  const strict = outboundOf(t, { allow: [], ports: [443] })
  for (const [url, code] of [
    [`http://good.test:${plain.port}/`, 'destination_not_allowed'],
    ['ftp://good.test/', 'invalid_destination'],
    ['no url', 'invalid_destination'],
    ['https://user:secret@good.test/', 'invalid_destination'],
    ['https://good.test:8443/', 'destination_not_allowed'],
    ...PROBES.map((host) => [`https://${host}/`, 'destination_not_allowed'] as const),
    ['https://good.test/', 'destination_not_allowed'],
    [`https://good.test/${'x'.repeat(9_000)}`, 'invalid_destination'],
  ] as const)
    t.equal(await codeOf(strict(url)), code, url.slice(0, 60))
  t.equal((await outboundOf(t, { http: true })(`http://good.test:${plain.port}/`)).status, 200)
})

t.test('only a checked address is dialed', async (t) => {
  dns.set('rebinding.test', (count) => ({ a: [count === 0 ? '127.0.0.1' : '10.0.0.1'], ttl: 0 }))
  dns.set('mixed.test', { a: ['10.0.0.1', '127.0.0.1'] })
  dns.set('mapped.test', { aaaa: ['::ffff:127.0.0.1'] })
  const fetch = outboundOf(t)
  t.equal((await fetch(at('mixed.test'))).status, 200, 'denied addresses of a DNS response are dropped')
  t.equal(await codeOf(fetch(at('mapped.test'))), 'destination_not_allowed')
  const asked = dns.asked.length
  await codeOf(fetch(at('rebinding.test')))
  t.equal(
    dns.asked.slice(asked).filter((each) => each === 'rebinding.test A').length,
    1,
    'one lookup for one dial',
  )
})

t.test('metadata addresses are never dialed, even when allowed', async (t) => {
  const fetch = outboundOf(t, { allow: ['169.254.0.0/16', 'fd00::/8', '100.64.0.0/10'], http: true })
  dns.set('metadata.test', { a: ['169.254.169.254'] })
  for (const url of [
    'http://metadata.test/',
    'http://169.254.169.254/latest/meta-data',
    'http://[fd00:ec2::254]/',
  ])
    t.equal(await codeOf(fetch(url)), 'destination_not_allowed', url)
})

t.test('the gateway itself is not dialed', async (t) => {
  const own = { addresses: ['127.0.0.0/8'], ports: [1, tls.port] }
  t.equal(await codeOf(outboundOf(t, {}, { own })(at('good.test'))), 'destination_not_allowed')
  t.equal((await outboundOf(t, {}, { own: { ...own, ports: [1] } })(at('good.test'))).status, 200)
  const everywhere = { allow: ['0.0.0.0/0', '::/0'] }
  const fetch = outboundOf(t, everywhere, { own: { ...own, addresses: machineAddresses() } })
  for (const host of ['127.0.0.1', '0.0.0.0', '[::]', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:0:0]'])
    t.equal(await codeOf(fetch(`https://${host}:${tls.port}/`)), 'destination_not_allowed', host)
})

t.test('redirects are followed on request, each checked like a first address', async (t) => {
  const hop = await startRedirects(t)
  const fetch = outboundOf(t)
  const to = (target: string, status = 302) =>
    `${hop.base}/?status=${status}&to=${encodeURIComponent(target)}`
  t.equal((await fetch(to(at('good.test')))).status, 302, 'not asked for')
  tls.received.splice(0)
  const followed = await fetch(to(at('other.test', '/end'), 303), {
    followRedirects: true,
    method: 'POST',
    body: 'secret',
    headers: [
      ['authorization', 'Bearer x'],
      ['x-auth-token', 'x'],
      ['user-agent', 'code'],
      ['content-type', 'text/plain'],
    ],
  })
  t.match(followed, { status: 200, redirected: true, url: at('other.test', '/end') })
  const [received] = tls.received.splice(0)
  t.match(received, { method: 'GET', headers: { 'user-agent': 'code' } })
  for (const name of ['authorization', 'x-auth-token'])
    t.notOk(received?.headers[name], 'whatever may be a credential stays with its origin')
  t.notOk(received?.headers['content-type'])
  const again = { followRedirects: true, method: 'POST', body: 'again', headers: [['x-own', '1']] } as const
  for (const status of [307, 308])
    t.equal(await codeOf(fetch(to(at('good.test'), status), again)), 'destination_not_allowed')
  t.equal(tls.received.length, 0, 'a body goes to no other origin')
  t.equal((await fetch(to(at('good.test'), 307), { ...again, allowCrossOriginBody: true })).status, 200)
  t.match(
    tls.received.splice(0),
    [{ method: 'POST', body: Buffer.from('again') }],
    'unless code asks for that',
  )
  t.equal((await fetch(to(`${hop.base}/?status=200`, 308), again)).status, 200, 'its own origin gets it')
  for (const target of [...PROBES.map((host) => `https://${host}/`), 'http://good.test/'])
    t.equal(await codeOf(fetch(to(target), { followRedirects: true })), 'destination_not_allowed', target)
  t.equal(await codeOf(fetch(to('file:///etc/passwd'), { followRedirects: true })), 'invalid_destination')
  const mixed = outboundOf(t, { http: true })
  plain.received.splice(0)
  const plainUrl = `http://good.test:${plain.port}/`
  t.equal(
    await codeOf(mixed(to(plainUrl), { followRedirects: true })),
    'destination_not_allowed',
    'no downgrade',
  )
  t.equal(plain.received.length, 0)
  t.equal(
    await codeOf(fetch(`${hop.base}/?loop`, { followRedirects: true })),
    'destination_unreachable',
    'a circle ends',
  )
})

const startRedirects = async (t: Test) => {
  const server = createServer(await authority.issue(['good.test']), (request, response) => {
    const query = new URL(request.url ?? '', 'https://x').searchParams
    const location = query.has('loop') ? (request.url ?? '') : (query.get('to') ?? '')
    request.resume()
    response.writeHead(Number(query.get('status') ?? 302), { location }).end()
  })
  return { base: at('good.test', '', await listenFor(t, server)) }
}

t.test('a compressed response is decoded', async (t) => {
  const { body, headers } = await outboundOf(t)(at('good.test', '/gzip'))
  t.equal(body.toString(), '{"zipped":true}')
  t.notOk(headers.some(([name]) => name === 'content-encoding' || name === 'content-length'))
})

t.test('bodies, methods and time are limited', async (t) => {
  const fetch = outboundOf(t)
  const hasty = outboundOf(t, {}, { timeoutMs: 200 })
  t.equal(await codeOf(fetch(at('good.test', '/large?bytes=6000000'))), 'too_large')
  t.equal(await codeOf(fetch(at('good.test'), { method: 'PUT', body: 'x'.repeat(5_300_000) })), 'too_large')
  t.equal(await codeOf(fetch(at('good.test'), { method: 'CONNECT' })), 'invalid')
  t.equal(await codeOf(fetch(at('good.test'), { body: 'x' })), 'invalid')
  t.equal(await codeOf(fetch(at('good.test'), { headers: [['bad name', 'x']] })), 'invalid')
  t.equal(await codeOf(fetch(at('good.test'), { headers: [['x', 'a\r\nb: c']] })), 'invalid')
  t.equal(await codeOf(hasty(at('good.test', '/slow?ms=60000'))), 'destination_timeout')
  t.equal(await codeOf(fetch(at('good.test', '/reset'))), 'destination_unreachable')
  t.equal(await codeOf(fetch('https://nowhere.test/')), 'destination_unreachable')
})

t.test('a request is aborted with its signal', async (t) => {
  const controller = new AbortController()
  const response = codeOf(outboundOf(t)(at('good.test', '/slow?ms=60000'), {}, controller.signal))
  controller.abort()
  t.equal(await response, 'gateway_timeout')
})

t.test("names that never resolve, and requests that never end, use only one tenant's share", async (t) => {
  const fetch = outboundOf(t)
  const controller = new AbortController()
  const names = Array.from({ length: 60 }, (_, at) => `${at}.silent.test`)
  for (const name of names) dns.set(name, { silent: true })
  const urls = [
    ...names.map((name) => `https://${name}/`),
    ...Array(640).fill(at('good.test', '/slow?ms=60000')),
  ]
  const flood = urls.map((url) => codeOf(fetch(url, { tenantId: 'greedy' }, controller.signal)))
  t.equal((await fetch(at('good.test'), { tenantId: 'other' })).status, 200)
  t.equal((await fetch(at('other.test'), { tenantId: 'another' })).status, 200)
  controller.abort()
  const codes = await Promise.all(flood)
  t.equal(codes.filter((code) => code === 'rate_limited').length, 700 - 512)
  t.same(
    codes.filter((code) => code === 'responded' || code === 'overloaded'),
    [],
  )
})

t.test('`check` sees each request before it is sent, redirects included', async (t) => {
  const hop = await startRedirects(t)
  const fetch = outboundOf(t)
  const seen: string[] = []
  const check: OutboundRequest['check'] = ({ host, port, method, path }) => {
    seen.push(`${method} ${host}:${port}${path}`)
    if (host === 'other.test') throw new AppError('destination_not_allowed', 'No.')
  }
  tls.received.length = 0
  const url = `${hop.base.toUpperCase().replace('HTTPS', 'https')}/?status=302&to=${encodeURIComponent(at('OTHER.test.', '/end?x=1'))}`
  t.equal(await codeOf(fetch(url, { followRedirects: true, check })), 'destination_not_allowed')
  const { hostname, port } = new URL(hop.base)
  t.same(seen, [`GET ${hostname}:${port}/`, `GET other.test:${tls.port}/end`])
  t.same(tls.received, [])
})
