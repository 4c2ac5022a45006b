import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import { removeTrustBundles, writeTrustBundle } from '../../src/egress/trust-bundle.ts'
import { createAuthority } from '../kit/authority.ts'
import { renderStatic, validateBootstrap } from '../kit/envoy.ts'

const OPTIONS: BootstrapOptions = {
  listen: { host: '127.0.0.1', port: 18080 },
  gatewaySockets: ['run/gateway-0.sock', 'run/gateway-1.sock'],
  apiSocket: 'run/admin.sock',
  envoyAdminSocket: 'run/envoy.sock',
  prefixes: ['SVC'],
  egress: { allow: [], http: false, trustBundle: 'trust.pem' },
}

t.test('Envoy accepts the smallest and the largest configuration', async (t) => {
  const authority = await createAuthority()
  const { cert, key } = await authority.issue(['edge.test'])
  const directory = t.testdir({ 'trust.pem': authority.pem })
  t.equal(validateBootstrap(directory, OPTIONS), '')
  const largest: BootstrapOptions = {
    ...OPTIONS,
    listen: { host: '::1', port: 18443 },
    tls: { certificate: cert, key },
    prefixes: ['SVC', 'BT', 'Other-Prefix'],
    egress: {
      allow: ['10.1.0.0/16', 'fd12::/16', '127.0.0.1'],
      http: true,
      trustBundle: 'trust.pem',
      timeoutMs: 1500,
      ownAddresses: ['192.168.1.7', '::1'],
      resolvers: [{ address: '127.0.0.1', port: 5353 }],
    },
    identities: [
      { name: 'destination_tls_1', client: { certificate: cert, key }, authorities: authority.pem },
      { name: 'destination_tls_2', client: { certificate: cert, key } },
      { name: 'destination_tls_3', authorities: authority.pem },
    ],
    grpcSocket: 'run/grpc.sock',
    demo: { socket: 'run/demo.sock', authority: 'trust.pem', host: 'demo.sidevault.test' },
    accessLog: 'all',
  }
  t.equal(validateBootstrap(directory, largest), '')
})

t.test('Envoy rejects a wrong configuration, so the test above can fail', (t) => {
  const directory = t.testdir({})
  t.match(validateBootstrap(directory, OPTIONS), /trust\.pem/)
  t.end()
})

t.test('no request to a destination is ever retried', (t) => {
  const text = JSON.stringify(renderStatic(OPTIONS))
  const policies = [...text.matchAll(/"retry_policy":(\{[^}]*\})/g)].map(([, policy]) => policy)
  const toDestinations = policies.filter((policy) => policy?.includes('per_try_timeout'))
  t.ok(toDestinations.length > 0)
  for (const policy of toDestinations) {
    t.match(policy, /"num_retries":0/)
    t.notMatch(policy, /retry_on/)
  }
  t.end()
})

t.test('http destinations and the demo exist only when configured', (t) => {
  t.notMatch(JSON.stringify(renderStatic(OPTIONS)), /destination_http-|destination_demo|allow_insecure/)
  t.end()
})

t.test('invalid options are named', (t) => {
  const render = (options: Partial<BootstrapOptions>) => renderStatic({ ...OPTIONS, ...options })
  t.throws(() => render({ prefixes: [] }), /header prefix/)
  t.throws(() => render({ prefixes: ['a b'] }), /"a b"/)
  t.throws(() => render({ listen: { host: 'edge.test', port: 1 } }), /"edge\.test"/)
  t.doesNotThrow(() => render({ listen: { host: 'localhost', port: 1 } }))
  t.throws(() => render({ gatewaySockets: [] }), /gateway socket/)
  t.throws(() => render({ apiSocket: `/${'x'.repeat(108)}` }), /longer than 107 bytes/)
  t.throws(() => render({ egress: { ...OPTIONS.egress, allow: ['nowhere'] } }), /"nowhere"/)
  t.end()
})

t.test(
  "the trust bundle holds the system's authorities and the extra ones, in a file named by its content",
  async (t) => {
    const extra = await createAuthority('extra')
    const ended = await extra.issue(['ended.test'], { expired: true })
    const directory = t.testdir({ run: {} })
    const run = join(directory, 'run')
    const plain = await writeTrustBundle(run)
    t.ok((readFileSync(plain, 'utf8').match(/BEGIN CERTIFICATE/g) ?? []).length > 20)
    const both = await writeTrustBundle(run, `a comment\n${extra.pem}${ended.cert}`)
    t.ok(readFileSync(both, 'utf8').includes(extra.pem.trim()))
    t.not(both, plain)
    const { ino } = statSync(plain)
    t.equal(await writeTrustBundle(run), plain)
    t.not(statSync(plain).ino, ino, 'a concurrent reader gets the complete file')
    await t.rejects(writeTrustBundle(run, 'nothing'), /no PEM certificate/)
    writeFileSync(`${plain}.fresh`, 'what a start that was killed left behind')
    const egress = { ...OPTIONS.egress, trustBundle: both }
    t.equal(validateBootstrap(directory, { ...OPTIONS, egress }), '')
    await removeTrustBundles(run, (path) => path === both)
    t.same(
      readdirSync(run).map((name) => join(run, name)),
      [both],
    )
  },
)
