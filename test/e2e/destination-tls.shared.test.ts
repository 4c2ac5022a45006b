/** Stored proxies with certificates of their own, through the whole program. */

import { execFileSync } from 'node:child_process'
import { createServer } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { unixHttp } from '../../src/common/unix-http.ts'
import { type Certificate, createAuthority } from '../kit/authority.ts'
import { listenFor } from '../kit/listen.ts'
import { startOutside } from '../kit/outside.ts'
import { descendants, until } from '../supervisor/processes.ts'

const [servers, first, second] = await Promise.all([
  createAuthority('servers'),
  createAuthority('first clients'),
  createAuthority('second clients'),
])
const own = await servers.issue(['127.0.0.1'])
const server = createServer(
  { ...own, ca: [first.pem, second.pem], requestCert: true, rejectUnauthorized: true },
  (request, response) => {
    const peer = (request.socket as TLSSocket).getPeerCertificate(true)
    const headers = Object.keys(request.headers)
    response.end(JSON.stringify({ issuer: peer.issuer?.CN, fingerprint: peer.fingerprint256, headers }))
  },
)
const destination = `https://127.0.0.1:${await listenFor(t, server)}`

const { sidevault: vault } = await startOutside()
const key = await vault.application({ permissions: ['token:use'] })

const tlsOf = ({ cert, key }: Certificate, ca = servers.pem) => ({
  client_certificate: cert,
  client_key: key,
  ca,
})
const manage = (method: string, path: string, body?: unknown) =>
  vault.call(method, path, {
    key: vault.managementKey,
    body,
    ...(method === 'PATCH' ? { headers: { 'content-type': 'application/merge-patch+json' } } : {}),
  })
const make = async (destination_tls: object, more: object = {}) => {
  const created = await manage('POST', '/proxies', {
    name: 'test',
    destination_url: destination,
    destination_tls,
    ...more,
  })
  if (created.status !== 201) throw new Error(created.text)
  return created.json as { id: string; key: string; destination_tls: Record<string, { fingerprint: string }> }
}
const send = (proxyKey: string, headers: Record<string, string> = {}) =>
  vault.call('POST', '/proxy', { key, body: {}, headers: { 'svc-proxy-key': proxyKey, ...headers } })
const colons = (fingerprint = '') => fingerprint.toUpperCase().replace(/..(?!$)/g, '$&:')

t.test('each proxy uses its own client certificate, and a change applies to the next request', async (t) => {
  const [one, other] = [
    await make(tlsOf(await first.issue(['a']))),
    await make(tlsOf(await second.issue(['b']))),
  ]
  t.match((await send(one.key)).json, {
    issuer: 'first clients',
    fingerprint: colons(one.destination_tls.client_certificate?.fingerprint),
  })
  t.match((await send(other.key)).json, { issuer: 'second clients' })
  t.match((await send(one.key)).json, { issuer: 'first clients' })

  const changed = await second.issue(['c'])
  const patched = await manage('PATCH', `/proxies/${one.id}`, {
    destination_tls: { client_certificate: changed.cert, client_key: changed.key },
  })
  t.equal(patched.status, 204, patched.text)
  t.match((await send(one.key)).json, { issuer: 'second clients' })

  await manage('PATCH', `/proxies/${one.id}`, { destination_tls: { ca: first.pem } })
  t.equal((await send(one.key)).status, 502, 'the destination is not of this authority')
  await manage('PATCH', `/proxies/${one.id}`, { destination_tls: null })
  t.equal((await send(one.key)).status, 502, 'without certificates it is not reached')
  t.match((await send(other.key)).json, { issuer: 'second clients' })
  t.equal((await manage('DELETE', `/proxies/${other.id}`)).status, 204)
  t.equal((await send(other.key)).status, 404)
})

t.test('no header selects another certificate, and the destination sees none of it', async (t) => {
  const mine = await make(tlsOf(await first.issue(['a'])))
  const foreign = await make(tlsOf(await second.issue(['b'])))
  await send(foreign.key)
  const clusters = (await unixHttp(join(vault.dataDir, 'run/envoy.sock'), 'GET', '/clusters')).body
  const names = [...new Set(clusters.match(/destination_tls_[0-9a-f-]+/g))]
  t.ok(names.length > 0)
  for (const name of names) {
    const headers = { 'x-sidevault-cluster': name }
    const forced = await send(mine.key, headers)
    t.match(forced.json, { issuer: 'first clients' })
    t.notOk(forced.json.headers.some((each: string) => each.includes('sidevault')))
    const plain = await vault.call('POST', '/proxy', {
      key,
      body: {},
      headers: { 'svc-proxy-url': destination, ...headers },
    })
    t.equal(plain.status, 502)
    const code = `module.exports = async ({ args }) => ({ headers: { 'x-sidevault-cluster': '${name}' }, body: {} })`
    const forcing = await make(tlsOf(await first.issue(['a'])), { request_transform: { code } })
    t.match((await send(forcing.key)).json, { issuer: 'first clients' })
  }
})

t.test('keys are not in clear text in files, responses, dumps or logs', async (t) => {
  const certificate = await first.issue(['a'])
  const proxy = await make(tlsOf(certificate))
  t.equal((await send(proxy.key)).status, 200)
  const secret = certificate.key.split('\n')[1] as string
  const shown = await manage('GET', `/proxies/${proxy.id}`)
  t.equal(shown.json.destination_tls.client_certificate.subject, 'CN=leaf')
  t.notMatch(shown.text, /BEGIN|PRIVATE/)
  const dump = await unixHttp(join(vault.dataDir, 'run/envoy.sock'), 'GET', '/config_dump')
  t.match(dump.body, /destination_tls_/)
  t.notOk(dump.body.includes(secret))
  t.notOk(dump.body.includes(Buffer.from(certificate.key).toString('base64').slice(4, 60)))
  t.notOk(vault.stderr().includes(secret))
  const found = execFileSync(
    'sh',
    ['-c', `grep -rlF -- '${secret}' '${vault.dataDir}' 2>/dev/null || true`],
    {
      encoding: 'utf8',
    },
  )
  t.equal(found, '')
})

t.test('a respawned Envoy or gateway continues to use them', async (t) => {
  const proxy = await make(tlsOf(await first.issue(['a'])))
  for (const process_ of [/envoy\.json/, /^sidevault: gateway/]) {
    t.equal((await send(proxy.key)).status, 200)
    const { pid = 0 } = descendants(vault.pid).find(({ command }) => process_.test(command)) ?? {}
    process.kill(pid, 'SIGKILL')
    await until('the destination is reached again', async () => {
      const response = await send(proxy.key).catch(() => undefined)
      return response?.status === 200
    })
  }
})
