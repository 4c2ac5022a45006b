import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { authorityFault, describeCertificates, identityFaults } from '../../src/common/certificates.ts'
import { createAuthority } from '../kit/authority.ts'

const now = Date.now()
const authority = await createAuthority()
const other = await createAuthority('another')
const { cert, key } = await authority.issue(['a.test'])
const foreign = await other.issue(['a.test'])
const pem = { type: 'pkcs8', format: 'pem' } as const
const faults = (certificate: string, secret: string, at = now) =>
  identityFaults({ certificate, key: secret }, at)

t.test('a chain and its key have no fault', (t) => {
  t.same(faults(cert, key), {})
  t.same(faults(`Bag Attributes\n${cert}${authority.pem}`, key), {})
  t.equal(authorityFault(authority.pem + other.pem, now), undefined)
  t.end()
})

t.test('each fault is named, and never quotes a key', async (t) => {
  t.match(faults(cert, foreign.key), { key: 'does not belong to the certificate' })
  t.match(faults('', 'nothing'), {
    certificate: 'holds no PEM certificate',
    key: 'is no PEM private key without a passphrase',
  })
  t.match(faults(cert.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA'), key), {
    certificate: /cannot be read \(number 1\)/,
  })
  t.match(faults(cert + other.pem, key), {
    certificate: 'is no chain: certificate 2 did not issue certificate 1',
  })
  t.match(faults((await authority.issue(['a.test'], { expired: true })).cert, key), {
    certificate: /^expired at 2/,
  })
  t.match(faults(cert, key, now - 30 * 86_400_000), { certificate: /^is not valid before 2/ })
  t.match(authorityFault(authority.pem, now + 30 * 86_400_000), /^expired at/)
  t.equal(authorityFault('x', now), 'holds no PEM certificate')
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export(pem)
  const edwards = generateKeyPairSync('ed25519').privateKey.export(pem)
  const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey.export(pem)
  for (const unusable of [small, edwards, curve])
    t.match(faults(cert, String(unusable)), { key: /^is neither RSA of 2048 to 8192 bits nor EC/ })
  t.match(faults(cert, foreign.cert), { key: /^is no PEM private key/ })
})

t.test('certificates are described by subject, fingerprint and end', (t) => {
  const [leaf, root] = describeCertificates(cert + authority.pem)
  t.match(leaf, { subject: 'CN=leaf', fingerprint: /^[0-9a-f]{64}$/ })
  t.equal(root?.subject, 'CN=Sidevault test authority')
  t.ok((leaf?.expires ?? 0) > now)
  t.end()
})
