import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import t, { type Test } from 'tap'
import { signerError } from '../../src/common/certificates.ts'
import { Secret } from '../../src/common/secret.ts'
import { createAuthority } from '../../src/forward-proxy/authority.ts'
import { authorityCertificate, newKey, pemOf } from '../../src/forward-proxy/certificates.ts'
import { createLeaves } from '../../src/forward-proxy/leaves.ts'
import { ensureVersions, rotateAuthority } from '../../src/forward-proxy/stored-authority.ts'
import { openKeys } from '../../src/keys/open.ts'
import { loadRootKey } from '../../src/keys/root-key.ts'
import { beginRootChange, endRootChange, rewrapKeys, rootKeyId } from '../../src/keys/root-key-rotation.ts'
import { createAuthority as createRoot } from '../kit/authority.ts'
import { directoryFor } from '../kit/directory.ts'
import { startTestService, testClock } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const setUp = async (t: Test) => {
  const service = await startTestService(t, { openStore: openInThread })
  const clock = testClock(Date.now())
  const deps = { keys: service.keys, store: service.store.keys, clock }
  return { service, clock, deps, authority: createAuthority(deps) }
}

/** Which authorities verify the certificate of a host. */
const certificatesIn = (pem: string) =>
  (pem.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map((block) => new X509Certificate(block))

/** The handshake of a client that trusts `ca`. */
const handshake = async (
  t: Test,
  leaf: { readonly certificate: string; readonly key: string },
  { ca, servername }: { readonly ca: string; readonly servername: string },
) => {
  const server = createServer({ cert: leaf.certificate, key: leaf.key }, (socket) => socket.end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ca, servername })
  t.teardown(() => {
    socket.destroy()
    server.close()
  })
  const [error] = await Promise.race([once(socket, 'secureConnect').then(() => []), once(socket, 'error')])
  return error as Error | undefined
}

t.test('the first use creates one authority: P-256, ten years', async (t) => {
  const { authority, deps, clock } = await setUp(t)
  const others = Array.from({ length: 4 }, () => createAuthority(deps))
  const pems = await Promise.all([authority, ...others].map((each) => each.caPem()))
  t.equal(new Set(pems).size, 1, 'concurrent first uses make one')
  const [certificate, more] = certificatesIn(pems[0] as string)
  t.equal(more, undefined)
  t.match(certificate, { ca: true, subject: /^CN=Sidevault forward proxy / })
  t.equal(certificate?.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  const years = (Date.parse(certificate?.validTo ?? '') - clock.now()) / DAY / 365
  t.ok(years > 9.9 && years < 10.1)
  t.equal(await authority.expiry(), Date.parse(certificate?.validTo ?? ''))
})

t.test('certificates of hosts are accepted by a client that trusts the authority', async (t) => {
  const { authority, clock } = await setUp(t)
  const ca = await authority.caPem()
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`
  for (const [host, servername] of [
    ['api.example.com', 'api.example.com'],
    ['*.example.com', 'x.example.com'],
    [long, long],
  ] as const) {
    const leaf = await authority.leaf(host)
    t.equal(await handshake(t, leaf, { ca, servername }), undefined, host)
    const wrong = await handshake(t, leaf, { ca, servername: 'other.test' })
    t.match(wrong, { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, host)
  }
  for (const address of ['192.0.2.7', '2001:db8::7']) {
    const leaf = await authority.leaf(address)
    t.equal(new X509Certificate(leaf.certificate).checkIP(address), address)
  }
  const { certificate, notBefore, notAfter } = await authority.leaf('api.example.com')
  const now = clock.now()
  t.ok(notAfter <= now + DAY, 'at most 24 hours ahead')
  t.ok(notBefore <= now - HOUR, 'backdated one hour')
  t.equal(Date.parse(new X509Certificate(certificate).validFrom), notBefore)
})

t.test('after a rotation both authorities are trusted, and the old one signs for seven days', async (t) => {
  const { deps, clock, authority } = await setUp(t)
  const signerOf = async () => {
    const leaf = new X509Certificate((await authority.leaf('a.example.com')).certificate)
    const versions = await ensureVersions(deps)
    return versions.find(({ chain }) => leaf.verify(new X509Certificate(chain).publicKey))?.version
  }
  const count = async () => certificatesIn(await authority.caPem()).length
  const generation = await authority.generation()
  t.same([await signerOf(), await count()], [1, 1])
  await rotateAuthority(deps, false)
  t.same([await signerOf(), await count()], [1, 2], 'old and new at once')
  await t.rejects(rotateAuthority(deps, false), { code: 'conflict' })
  clock.advance(7 * DAY - HOUR)
  t.equal(await signerOf(), 1)
  clock.advance(HOUR)
  t.same([await signerOf(), await count()], [2, 2])
  t.equal(
    await authority.generation(),
    generation,
    'certificates of the old one may stay until they are renewed',
  )
  clock.advance(DAY)
  t.same([await signerOf(), await count()], [2, 1], 'the old one signed nothing that is valid')
  await rotateAuthority(deps, true)
  t.same([await signerOf(), await count()], [3, 2], 'at once')
  t.not(await authority.generation(), generation)
  t.same(
    (await ensureVersions(deps)).map(({ version }) => version),
    [2, 3],
    'old keys are removed',
  )
  await rotateAuthority(deps, false)
  t.equal(await signerOf(), 3)
  await rotateAuthority(deps, true)
  t.equal(await signerOf(), 4, 'one that waited starts')
})

t.test('the private key is in clear text in no file of the store', async (t) => {
  const { service, deps, authority } = await setUp(t)
  await authority.leaf('api.example.com')
  const [version] = await ensureVersions(deps)
  const { d = '' } = version?.key.export({ format: 'jwk' }) ?? {}
  const secret = Buffer.from(d, 'base64url')
  t.equal(secret.length, 32)
  const files = readdirSync(service.directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
  t.ok(files.some((bytes) => bytes.includes('forward-ca')))
  for (const bytes of files)
    for (const form of [secret, d, secret.toString('base64'), secret.toString('hex')])
      t.notOk(bytes.includes(form))
})

t.test('root key rotation rewraps the private key, and the certificate stays', async (t) => {
  const { service, deps, authority } = await setUp(t)
  const pem = await authority.caPem()
  const source = { dataDir: service.directory, create: false, env: {} }
  const [from, to] = [await loadRootKey(undefined, source), new Secret(randomBytes(32))]
  const { keys } = service.store
  await beginRootChange({ keys }, { from, to, now: deps.clock.now() })
  const during = await openKeys({ keys, clock: deps.clock }, { rootKey: to, create: false })
  t.equal(await createAuthority({ ...deps, keys: during }).caPem(), pem, 'while it changes')
  await rotateAuthority(deps, true)
  await rewrapKeys({ keys }, { known: from })
  t.equal(await endRootChange({ keys }, { from: rootKeyId(from), to: rootKeyId(to) }), true)
  const after = await openKeys({ keys, clock: deps.clock }, { rootKey: to, create: false })
  const rotated = createAuthority({ ...deps, keys: after })
  t.ok((await rotated.caPem()).startsWith(pem))
  t.ok(await rotated.leaf('api.example.com'))
})

t.test('a certificate that was altered in the store is not served', async (t) => {
  const { service, clock, deps, authority } = await setUp(t)
  await authority.caPem()
  const row = (await service.store.keys.keys('')).find(({ purpose }) => purpose === 'forward-ca-certificate')
  if (row === undefined) throw new Error('there is no certificate')
  const now = clock.now()
  await service.store.keys.remove([row])
  await service.store.keys.add([{ ...row, wrapped: await authorityCertificate(newKey(), now) }])
  await t.rejects(authority.caPem(), { code: 'internal' })
  await t.rejects(authority.leaf('a.example.com'), { code: 'internal' })
  await t.rejects(createAuthority(deps).caPem(), { code: 'internal' })
})

t.test('certificates are renewed at half of their life, a few at a time', async (t) => {
  const { authority, clock } = await setUp(t)
  let signed = 0
  const counting = {
    generation: authority.generation,
    leaf: async (host: string) => {
      signed++
      const now = clock.now()
      return { host, certificate: `${signed}`, key: '', notBefore: now - HOUR, notAfter: now + DAY }
    },
  }
  const leaves = createLeaves({ authority: counting, clock: clock })
  const hosts = Array.from({ length: 1_000 }, (_, at) => `h${at}.example.com`)
  const first = await leaves.forHosts(hosts)
  t.equal(signed, 1_000)
  t.equal(await leaves.forHosts(hosts), first, 'the same array while nothing changes')
  const more = await leaves.forHosts([...hosts, 'new.example.com'])
  t.equal(signed, 1_001)
  t.equal(more[0], first[0])
  clock.advance(11.6 * HOUR)
  const renewed = await leaves.forHosts([...hosts, 'new.example.com'])
  t.equal(signed, 1_004, 'three of a thousand')
  t.equal(renewed.filter((leaf, at) => leaf !== more[at]).length, 3)
  await leaves.forHosts([...hosts, 'new.example.com'])
  t.equal(signed, 1_004, 'not more at the same time')
})

t.test('an authority from a file signs, with its chain', async (t) => {
  const key = newKey()
  const now = Date.now()
  const chain = pemOf(await authorityCertificate(key, now))
  const pem = chain + key.export({ type: 'pkcs8', format: 'pem' })
  t.equal(signerError(pem, now), undefined)
  const { deps } = await setUp(t)
  const file = (text: string) => {
    const path = join(directoryFor(t), 'ca.pem')
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const path = file(pem)
  const authority = createAuthority(deps, path)
  t.equal(await authority.caPem(), chain)
  const purposes = (await deps.store.keys('')).map(({ purpose }) => purpose)
  t.notOk(
    purposes.some((purpose) => purpose.startsWith('forward-ca')),
    'the store has none',
  )
  const leaf = await authority.leaf('api.example.com')
  t.equal(await handshake(t, leaf, { ca: chain, servername: 'api.example.com' }), undefined)
  const root = await createRoot()
  const { cert, key: own } = await root.issue(['api.example.com'])
  const other = newKey().export({ type: 'pkcs8', format: 'pem' })
  for (const wrong of ['', chain, chain + other, cert + own]) t.type(signerError(wrong, now), 'string')
  for (const wrong of ['', cert + own])
    await t.rejects(createAuthority(deps, file(wrong)).caPem(), { code: 'invalid' })
  t.equal(await authority.expiry(), Date.parse(new X509Certificate(chain).validTo))
  t.equal(await createAuthority(deps, file('')).expiry(), 0, 'a file that cannot be read')
  chmodSync(path, 0o644)
  await t.rejects(createAuthority(deps, path).caPem(), { code: 'invalid', message: /chmod 600/ })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const rsaChain = pemOf(await authorityCertificate(rsa, now))
  const rsaPem = rsaChain + rsa.export({ type: 'pkcs8', format: 'pem' })
  t.equal(signerError(rsaPem, now), undefined)
  const byRsa = await createAuthority(deps, file(rsaPem)).leaf('api.example.com')
  t.equal(await handshake(t, byRsa, { ca: rsaChain, servername: 'api.example.com' }), undefined)
})
