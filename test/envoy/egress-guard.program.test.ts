import { isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import t from 'tap'
import { machineAddresses } from '../../src/control-plane/options.ts'
import { startDestination } from '../kit/destination.ts'
import { startWorld } from '../kit/egress.ts'
import { METADATA, PRIVATE, PROBES } from '../kit/forbidden-addresses.ts'
import { until } from '../kit/until.ts'

/** Everything on this machine listens on 127.0.0.1; nothing is allowed, so nothing may ever arrive. */
const closed = await startWorld({
  bootstrap: { egress: { allow: [], http: true } },
  gateway: { egress: { allow: [], http: true, ports: '*' } },
})
const { destination, dns } = closed

t.teardown(() => closed.close())

const port = destination.port

const isRejected = (
  t: Tap,
  response: Awaited<ReturnType<typeof closed.post>>,
  name: string,
  statuses: number[],
) => {
  t.ok(statuses.includes(response.status), `${name} is rejected with ${response.status}`)
  t.equal(response.json?.proxy_error?.status, response.status, name)
  t.equal(response.headers['svc-proxy-destination-status'], undefined)
}
type Tap = Pick<typeof t, 'ok' | 'equal'>

t.test('addresses are rejected', async (t) => {
  for (const host of [...PROBES, 'localhost'])
    isRejected(t, await closed.post('/proxy', { to: `https://${host}:${port}`, body: 'x' }), host, [403])
  t.same(destination.received, [])
  t.equal(destination.connections(), 0)
})

t.test('a URL that is not absolute https with a name is rejected', async (t) => {
  const wide = Buffer.from(`https://\uff11\uff12\uff17.0.0.1:${port}`).toString('latin1')
  for (const to of [
    wide,
    'https://',
    `dest.test:${port}`,
    `https://user@dest.test:${port}`,
    `https:\\\\dest.test:${port}`,
  ])
    isRejected(t, await closed.post('/proxy', { to, body: 'x' }), to, [400])
  t.equal(destination.connections(), 0)
})

t.test('names that resolve to denied addresses are rejected, over TLS and plain', async (t) => {
  for (const [at, address] of [...METADATA, ...PRIVATE].entries()) {
    const name = `a${at}.test`
    dns.set(name, isIPv4(address) ? { a: [address] } : { aaaa: [address] })
    for (const url of [`https://${name}:${port}`, `http://${name}:${port}`, `https://${name.toUpperCase()}.`])
      isRejected(t, await closed.post('/proxy', { to: url, body: 'x' }), `${url} ${address}`, [403])
  }
  dns.set('several.test', { a: ['10.0.0.1', '127.0.0.1'], aaaa: ['::1', 'fe80::1'] })
  isRejected(t, await closed.post('/proxy', { to: `https://several.test:${port}` }), 'several', [403])
  t.equal(destination.connections(), 0)
})

t.test('a name whose records change among denied addresses stays rejected', async (t) => {
  dns.set('moving.test', (count) => ({ a: [count % 2 === 0 ? '10.9.9.9' : '127.0.0.1'], ttl: 0 }))
  for (let round = 0; round < 4; round++)
    isRejected(
      t,
      await closed.post('/proxy', { to: closed.url('', 'moving.test'), body: 'x' }),
      'moving',
      [403],
    )
  t.equal(destination.connections(), 0)
})

t.test('with a network allowed', async (t) => {
  const open = await startWorld({ bootstrap: { egress: { allow: ['127.0.0.1/32'] } } })
  const inside = await startDestination(await open.authority.issue(['dest.test']), {
    host: '127.0.0.2',
    port: open.destination.port,
  })
  t.teardown(async () => {
    await inside.close()
    await open.close()
  })
  const get = (url: string, headers = {}) => open.post('/proxy', { method: 'GET', to: url, headers })

  await t.test('a name that moves to a private address gets no requests there', async (t) => {
    open.dns.set('dest.test', (count) => ({ a: [count === 0 ? '127.0.0.1' : '127.0.0.2'], ttl: 1 }))
    t.equal((await get(open.url())).status, 200)
    const asked = () => open.dns.asked.filter((question) => question === 'dest.test A').length
    // Envoy asks again by itself; each request keeps the name in its cache.
    await until('the name is asked again', async () => {
      await get(open.url())
      return asked() >= 2
    })
    for (let round = 0; round < 5; round++) {
      const { status } = await get(open.url('/status/201'), { connection: 'close' })
      t.ok(status === 201 || status === 403, `status ${status}`)
    }
    t.equal(inside.connections(), 0)
  })

  await t.test('of mixed DNS records only the allowed address is dialed', async (t) => {
    open.destination.received.length = 0
    open.dns.set('mixed.test', { a: ['127.0.0.2', '10.0.0.1', '127.0.0.1'], aaaa: ['::1'] })
    const mixed = await get(open.url('', 'mixed.test'))
    t.equal(mixed.status, 200, mixed.text)
    open.dns.set('only-private.test', { a: ['127.0.0.2', '10.0.0.1'] })
    t.equal((await get(open.url('', 'only-private.test'))).status, 403)
    t.equal((await get(open.url('', '127.0.0.2'))).status, 403)
    for (const spelling of ['127.0.0.1', '0x7f.1', '2130706433', '0177.0.0.1'])
      t.equal((await get(open.url('', spelling))).status, 200, `an allowed address: ${spelling}`)
    t.equal(open.destination.received.length, 5)
    t.equal(inside.connections(), 0)
  })
})

t.test('ports and plain http are denied unless allowed', async (t) => {
  const strict = await startWorld({
    gateway: { egress: { allow: ['127.0.0.1/32'], http: false, ports: [443, 8443] } },
  })
  t.teardown(() => strict.close())
  isRejected(t, await strict.post('/proxy', { to: strict.url() }), 'another port', [403])
  isRejected(t, await strict.post('/proxy', { to: 'http://dest.test' }), 'http', [400, 403])
  isRejected(t, await strict.post('/proxy', { to: 'https://dest.test:8443' }), 'an allowed port', [502])
  isRejected(t, await strict.post('/proxy', { to: 'https://dest.test' }), 'the default port', [502])
  t.equal(strict.destination.connections(), 0)
})

t.test('with every network allowed', async (t) => {
  const everything = { allow: ['0.0.0.0/0', '::/0'], http: true }
  const open = await startWorld({
    bootstrap: { egress: { ...everything, ownAddresses: machineAddresses() } },
    gateway: { egress: { ...everything, ports: '*' } },
  })
  t.teardown(() => open.close())

  await t.test('cloud metadata stays denied', async (t) => {
    const names = METADATA.map((address, at) => {
      open.dns.set(`metadata${at}.test`, isIPv4(address) ? { a: [address] } : { aaaa: [address] })
      return `metadata${at}.test`
    })
    for (const host of [...names, '169.254.169.254', '[fd00:ec2::254]'])
      isRejected(t, await open.post('/proxy', { method: 'GET', to: `https://${host}` }), host, [403])
  })

  await t.test('a destination that is this gateway itself is rejected', async (t) => {
    const machine = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4')?.address
    open.dns.set('self.test', { a: ['127.0.0.1'] })
    const before = await open.envoy.stat('http.edge.downstream_rq_total')
    open.dns.set('nowhere.test', { a: ['0.0.0.0'], aaaa: ['::'] })
    open.dns.set('mapped.test', { aaaa: ['::ffff:127.0.0.1'] })
    const hosts = [
      ...['self.test', '127.0.0.1', '127.0.0.2', ...(machine ? [machine] : [])],
      ...['nowhere.test', '0.0.0.0', '0', '[::]', 'mapped.test', '[::ffff:127.0.0.1]', '[::ffff:0:0]'],
    ]
    for (const host of hosts)
      for (const stream of ['false', 'true']) {
        const headers = { 'svc-proxy-stream': stream, 'content-type': 'text/plain' }
        const to = `http://${host}:${open.port}/tokens`
        isRejected(t, await open.post('/proxy', { to, headers, body: 'text' }), host, [403])
      }
    const named = await open.post('/proxy', {
      to: 'http://vault.example.test',
      headers: { host: 'vault.example.test' },
    })
    isRejected(t, named, 'the name that the caller used', [403])
    const after = await open.envoy.stat('http.edge.downstream_rq_total')
    t.equal(after - before, 2 * hosts.length + 1, 'no request came back to us')
    t.same(open.apiPaths, [])
  })
})
