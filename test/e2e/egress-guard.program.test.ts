import { networkInterfaces } from 'node:os'
import t from 'tap'
import { machineAddresses } from '../../src/control-plane/options.ts'
import { startDestination } from '../kit/destination.ts'
import { startWorld } from '../kit/egress.ts'

/** Everything on this machine listens on 127.0.0.1; nothing is allowed, so nothing may ever arrive. */
const closed = await startWorld({
  bootstrap: { egress: { allow: [], http: true } },
  gateway: { egress: { allow: [], http: true, ports: '*' } },
})
const { destination, dns } = closed

t.teardown(() => closed.close())

const port = destination.port
const LITERALS: readonly string[] = [
  `https://127.0.0.1:${port}`,
  `https://127.0.0.2:${port}`,
  `https://127.1:${port}`,
  `https://127.0.1:${port}`,
  `https://2130706433:${port}`,
  `https://0x7f000001:${port}`,
  `https://0x7f.1:${port}`,
  `https://0x7f.0x0.0x0.0x1:${port}`,
  `https://0177.0.0.1:${port}`,
  `https://017700000001:${port}`,
  `https://127.0.0.1.:${port}`,
  `https://%31%32%37.0.0.1:${port}`,
  `https://\uff11\uff12\uff17.0.0.1:${port}`,
  `https://127\u30020\u30020\u30021:${port}`,
  `https://0:${port}`,
  `https://0.0.0.0:${port}`,
  `https://[::1]:${port}`,
  `https://[::]:${port}`,
  `https://[0:0:0:0:0:0:0:1]:${port}`,
  `https://[::ffff:127.0.0.1]:${port}`,
  `https://[::ffff:7f00:1]:${port}`,
  `https://[::127.0.0.1]:${port}`,
  `https://[64:ff9b::7f00:1]:${port}`,
  `https://[fe80::1]:${port}`,
  `https://[fe80::1%25lo]:${port}`,
  `https://[fd00:ec2::254]/latest`,
  'https://169.254.169.254/latest/meta-data',
  'http://169.254.169.254/latest/meta-data',
  'https://10.0.0.1',
  'https://192.168.1.1',
  'https://172.16.0.1',
  'https://100.64.0.1',
  'https://224.0.0.1',
  'https://255.255.255.255',
  'https://8.8.8.8',
  `https://localhost:${port}`,
  `https://LOCALHOST:${port}`,
  `https://localhost.:${port}`,
  `https://a.localhost:${port}`,
  `https://intranet:${port}`,
]

const MALFORMED: readonly string[] = [
  `https://user@dest.test:${port}`,
  `https://user:pass@dest.test:${port}`,
  `https://@dest.test:${port}`,
  `https://public.test@127.0.0.1:${port}`,
  `https://public.test:x@127.0.0.1:${port}`,
  `https://dest.test:99999`,
  `https://dest.test:0`,
  `https://dest.test:abc`,
  `https://dest.test:-1`,
  `https://dest.test\\@127.0.0.1:${port}`,
  `https://127.0.0.1:${port}\\.dest.test`,
  `https:\\\\dest.test:${port}`,
  `https:dest.test:${port}`,
  `https:///dest.test:${port}`,
  `//dest.test:${port}`,
  `dest.test:${port}`,
  `ftp://dest.test:${port}`,
  `file:///etc/passwd`,
  'javascript:alert(1)',
  `https://dest%2etest:${port}`,
  `https://dest.test%00.evil.test:${port}`,
  `https://dest.test%2f@127.0.0.1:${port}`,
  `https://dest..test:${port}`,
  `https://.dest.test:${port}`,
  `https://-dest.test:${port}`,
  `https://de st.test:${port}`,
  `https://dest.test:${port}/#fragment`,
  `https://dest.test:${port}#@127.0.0.1/`,
  `https://${'a'.repeat(64)}.test`,
  `https://dest.test/${'a'.repeat(400)}`,
  'https://',
  'https://:443',
  'https://[::1',
  'https://[dest.test]',
]

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

t.test('addresses are rejected in every spelling', async (t) => {
  for (const to of LITERALS) {
    const response = await closed.post('/proxy', { to: Buffer.from(to).toString('latin1'), body: 'x' })
    isRejected(t, response, to, [400, 403])
  }
  t.same(destination.received, [])
  t.equal(destination.connections(), 0)
})

t.test('a URL that is not absolute https with a name is rejected', async (t) => {
  for (const to of MALFORMED) isRejected(t, await closed.post('/proxy', { to, body: 'x' }), to, [400])
  t.equal(destination.connections(), 0)
})

const NAMES: Readonly<Record<string, { a?: string[]; aaaa?: string[] }>> = {
  'loop.test': { a: ['127.0.0.1'] },
  'loop2.test': { a: ['127.3.2.1'] },
  'ten.test': { a: ['10.1.2.3'] },
  'metadata.test': { a: ['169.254.169.254'] },
  'zero.test': { a: ['0.0.0.0'] },
  'carrier.test': { a: ['100.64.3.4'] },
  'multicast.test': { a: ['224.0.0.1'] },
  'several.test': { a: ['10.0.0.1', '127.0.0.1', '192.168.0.1'] },
  'six.test': { aaaa: ['::1'] },
  'mapped.test': { aaaa: ['::ffff:127.0.0.1'] },
  'compatible.test': { aaaa: ['::7f00:1'] },
  'nat64.test': { aaaa: ['64:ff9b::7f00:1'] },
  'sixtofour.test': { aaaa: ['2002:7f00:1::'] },
  'unique.test': { aaaa: ['fd00:ec2::254'] },
  'link.test': { aaaa: ['fe80::1'] },
}

t.test('names that resolve to denied addresses are rejected in every spelling', async (t) => {
  for (const [name, script] of Object.entries(NAMES)) {
    dns.set(name, script)
    for (const host of [name, name.toUpperCase(), `${name}.`]) {
      const response = await closed.post('/proxy', { to: `https://${host}:${port}`, body: 'x' })
      isRejected(t, response, host, [403])
    }
    const plain = await closed.post('/proxy', { to: `http://${name}:${port}`, body: 'x' })
    isRejected(t, plain, `http ${name}`, [403])
  }
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

t.test('a name that moves from an allowed to a private address gets no requests there', async (t) => {
  const open = await startWorld({ bootstrap: { egress: { allow: ['127.0.0.1/32'] } } })
  const inside = await startDestination(await open.authority.issue(['dest.test']), {
    host: '127.0.0.2',
    port: open.destination.port,
  })
  t.teardown(async () => {
    await inside.close()
    await open.close()
  })
  open.dns.set('dest.test', (count) => ({ a: [count === 0 ? '127.0.0.1' : '127.0.0.2'], ttl: 1 }))
  t.equal((await open.post('/proxy', { method: 'GET', to: open.url() })).status, 200)
  const asked = () => open.dns.asked.filter((question) => question === 'dest.test A').length
  // Envoy asks again by itself; each request keeps the name in its cache.
  while (asked() < 2) await open.post('/proxy', { method: 'GET', to: open.url() })
  for (let round = 0; round < 5; round++) {
    const { status } = await open.post('/proxy', {
      method: 'GET',
      to: open.url('/status/201'),
      headers: { connection: 'close' },
    })
    t.ok(status === 201 || status === 403, `status ${status}`)
  }
  t.equal(inside.connections(), 0)
})

t.test('of mixed DNS records only the allowed address is dialed', async (t) => {
  const open = await startWorld({ bootstrap: { egress: { allow: ['127.0.0.1/32'] } } })
  t.teardown(() => open.close())
  open.dns.set('mixed.test', { a: ['127.0.0.2', '10.0.0.1', '127.0.0.1'], aaaa: ['::1'] })
  const mixed = await open.post('/proxy', { method: 'GET', to: open.url('', 'mixed.test') })
  t.equal(mixed.status, 200, mixed.text)
  open.dns.set('only-private.test', { a: ['127.0.0.2', '10.0.0.1'] })
  const other = await open.post('/proxy', { method: 'GET', to: open.url('', 'only-private.test') })
  t.equal(other.status, 403)
  const literal = await open.post('/proxy', { method: 'GET', to: open.url('', '127.0.0.1') })
  t.equal(literal.status, 200, 'an allowed address may be written as one')
  t.equal((await open.post('/proxy', { method: 'GET', to: open.url('', '127.0.0.2') })).status, 403)
  for (const spelling of ['0x7f.1', '2130706433', '0177.0.0.1'])
    t.equal((await open.post('/proxy', { method: 'GET', to: open.url('', spelling) })).status, 200, spelling)
  t.equal(open.destination.received.length, 5)
})

t.test('cloud metadata stays denied when its network is allowed', async (t) => {
  const all = ['0.0.0.0/0', '::/0']
  const open = await startWorld({
    bootstrap: { egress: { allow: all } },
    gateway: { egress: { allow: all, http: false, ports: '*' } },
  })
  t.teardown(() => open.close())
  open.dns.set('metadata.test', { a: ['169.254.169.254'] })
  open.dns.set('metadata6.test', { aaaa: ['fd00:ec2::254'] })
  open.dns.set('alibaba.test', { a: ['100.100.100.200'] })
  for (const host of [
    'metadata.test',
    'metadata6.test',
    'alibaba.test',
    '169.254.169.254',
    '[fd00:ec2::254]',
  ])
    t.equal((await open.post('/proxy', { method: 'GET', to: `https://${host}` })).status, 403, host)
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

t.test('a destination that is this gateway itself is rejected', async (t) => {
  const machine = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address
  const everything = { allow: ['0.0.0.0/0', '::/0'], http: true }
  const open = await startWorld({
    bootstrap: { egress: { ...everything, ownAddresses: machineAddresses() } },
    gateway: { egress: { ...everything, ports: '*' } },
  })
  t.teardown(() => open.close())
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
