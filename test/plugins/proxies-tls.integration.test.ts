import t from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const clock = { now: () => Date.now() }
const service = await startTestService(t, { openStore: openInThread, clock })
const authority = await createAuthority()
const { cert, key } = await authority.issue(['a.test'])
const PATCH = { 'content-type': 'application/merge-patch+json' }
const send = (destination_tls: unknown, more: object = {}) =>
  service.call('POST', '/proxies', {
    body: { name: 'p', destination_url: 'https://a.test', destination_tls, ...more },
  })
const stored = async (proxyKey: string) =>
  (await service.kernel.registry.ports.proxies?.find(service.keys.mac('api-key', proxyKey)))?.destinationTls

t.test('certificates are stored for the gateway, and returned by name only', async (t) => {
  const { status, json, text } = await send({ client_certificate: cert, client_key: key, ca: authority.pem })
  t.equal(status, 201)
  t.match(json.destination_tls, {
    client_certificate: { subject: 'CN=leaf', fingerprint: /^[0-9a-f]{64}$/, expires_at: /^20.*\+00:00$/ },
    ca: [{ subject: 'CN=Sidevault test authority' }],
  })
  t.notMatch(text, /BEGIN|"id":"[^"]*","client/)
  const record = await stored(json.key)
  t.equal(record?.client?.certificate, cert)
  t.equal(record?.client?.key.reveal(), key)
  t.equal(record?.authorities, authority.pem)
  t.notMatch(JSON.stringify(record), /PRIVATE/)

  const path = `/proxies/${json.id}`
  const patch = (body: object) => service.call('PATCH', path, { body, headers: PATCH })
  t.equal((await patch({ name: 'q' })).status, 204)
  t.equal((await stored(json.key))?.id, record?.id, 'another name leaves them as they are')
  t.equal((await patch({ destination_tls: { ca: null } })).status, 204)
  const changed = await stored(json.key)
  t.not(changed?.id, record?.id)
  t.equal(changed?.authorities, undefined)
  const complete = await service.call('GET', path)
  t.equal(
    (await service.call('PUT', path, { body: complete.json })).status,
    400,
    'what is shown cannot be stored',
  )
  t.equal((await patch({ destination_tls: null })).status, 204)
  t.equal(await stored(json.key), undefined)
})

t.test('text around certificates and keys is not stored', async (t) => {
  const around = (text: string) => `a comment \u00e9\n${text}\u2028`
  const { status, json } = await send({
    client_certificate: around(cert),
    client_key: `a comment\n${key}`,
    ca: around(authority.pem),
  })
  t.equal(status, 201)
  const record = await stored(json.key)
  t.equal(record?.client?.certificate, cert)
  t.equal(record?.client?.key.reveal(), key)
  t.equal(record?.authorities, authority.pem)
})

t.test('issues are reported by member, without the input', async (t) => {
  const foreign = await authority.issue(['b.test'])
  const expired = await authority.issue(['c.test'], { expired: true })
  const own = { client_certificate: cert, client_key: key }
  const cases: readonly (readonly [unknown, Record<string, RegExp>])[] = [
    [{}, { 'destination_tls.ca': /required/ }],
    [{ client_certificate: cert }, { 'destination_tls.client_key': /required/ }],
    [{ client_key: key }, { 'destination_tls.client_certificate': /required/ }],
    [{ ...own, client_key: foreign.key }, { 'destination_tls.client_key': /does not belong/ }],
    [{ ...own, client_key: 'x' }, { 'destination_tls.client_key': /no PEM private key/ }],
    [{ ...own, client_certificate: key }, { 'destination_tls.client_certificate': /no PEM certificate/ }],
    [
      { client_certificate: expired.cert, client_key: expired.key, ca: 'x' },
      { 'destination_tls.client_certificate': /expired/, 'destination_tls.ca': /no PEM certificate/ },
    ],
    ['x', { destination_tls: /./ }],
  ]
  for (const [tls, errors] of cases) {
    const { status, json, text } = await send(tls)
    t.equal(status, 400)
    for (const [member, issue] of Object.entries(errors))
      t.match(json.errors?.[member]?.join(), issue, member)
    t.notMatch(text, key.split('\n')[1] as string)
  }
})
