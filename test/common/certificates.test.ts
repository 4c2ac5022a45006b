import { createPrivateKey, generateKeyPairSync, generatePrimeSync, type JsonWebKey } from 'node:crypto'
import t from 'tap'
import { authorityError, describeCertificates, identityErrors } from '../../src/common/certificates.ts'
import { createAuthority } from '../kit/authority.ts'

const now = Date.now()
const authority = await createAuthority()
const other = await createAuthority('another')
const { cert, key } = await authority.issue(['a.test'])
const foreign = await other.issue(['a.test'])
const pem = { type: 'pkcs8', format: 'pem' } as const
const issues = (certificate: string, secret: string, at = now) =>
  identityErrors({ certificate, key: secret }, at)

t.test('a chain and its key have no issue', (t) => {
  t.same(issues(cert, key), {})
  t.same(issues(`Bag Attributes\n${cert}${authority.pem}`, key), {})
  t.equal(authorityError(authority.pem + other.pem, now), undefined)
  t.end()
})

t.test('an expired authority is an issue unless a valid one is left', async (t) => {
  const { cert: ended } = await authority.issue(['a.test'], { expired: true })
  t.match(authorityError(ended, now), /^expired at 2/)
  t.equal(authorityError(ended + other.pem, now), undefined)
  t.match(authorityError(ended + other.pem, now + 30 * 86_400_000), /^expired at 2/)
})

t.test('each issue is named, without quoting a key', async (t) => {
  t.match(issues(cert, foreign.key), { key: 'does not belong to the certificate' })
  t.match(issues('', 'nothing'), {
    certificate: 'holds no PEM certificate',
    key: 'is no PEM private key without a passphrase',
  })
  t.match(issues(cert.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA'), key), {
    certificate: /cannot be read \(number 1\)/,
  })
  t.match(issues(cert + other.pem, key), {
    certificate: 'is no chain: certificate 2 did not issue certificate 1',
  })
  t.match(issues((await authority.issue(['a.test'], { expired: true })).cert, key), {
    certificate: /^expired at 2/,
  })
  t.match(issues(cert, key, now - 30 * 86_400_000), { certificate: /^is not valid before 2/ })
  t.match(authorityError(authority.pem, now + 30 * 86_400_000), /^expired at/)
  t.equal(authorityError('x', now), 'holds no PEM certificate')
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export(pem)
  const edwards = generateKeyPairSync('ed25519').privateKey.export(pem)
  const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey.export(pem)
  for (const unusable of [small, edwards, curve])
    t.match(issues(cert, String(unusable)), { key: /^is neither RSA of 2048 to 8192 bits nor EC/ })
  t.match(issues(cert, foreign.cert), { key: /^is no PEM private key/ })
})

/** An RSA key with this exponent; Node itself makes none above 2³². */
const rsaOf = (e: bigint): JsonWebKey => {
  const prime = (): bigint => {
    const candidate = generatePrimeSync(1024, { bigint: true })
    return (candidate - 1n) % e === 0n ? prime() : candidate
  }
  const inverse = (value: bigint, modulus: bigint): bigint => {
    let [a, b, x, y] = [value % modulus, modulus, 1n, 0n]
    while (b !== 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y]
    return ((x % modulus) + modulus) % modulus
  }
  const [p, q] = [prime(), prime()]
  const d = inverse(e, (p - 1n) * (q - 1n))
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const text = (value: bigint) => {
    const hex = value.toString(16)
    return Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex').toString('base64url')
  }
  return {
    kty: 'RSA',
    ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, text(value)])),
  }
}

t.test('keys that Envoy would reject are rejected earlier', (t) => {
  const keyIssue = (jwk: JsonWebKey) =>
    issues(cert, String(createPrivateKey({ key: jwk, format: 'jwk' }).export(pem))).key
  t.match(keyIssue(rsaOf(65_537n)), 'does not belong to the certificate')
  t.match(keyIssue(rsaOf(2n ** 40n + 15n)), /public exponent above 4294967296/)
  const sound = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
  t.match(keyIssue(sound), 'does not belong to the certificate')
  for (const member of ['d', 'dp', 'dq', 'qi'] as const)
    t.match(keyIssue({ ...sound, [member]: sound.e }), /numbers are inconsistent/, member)
  for (const namedCurve of ['P-256', 'P-384', 'P-521']) {
    const named = generateKeyPairSync('ec', { namedCurve }).privateKey.export(pem)
    t.match(issues(cert, String(named)), { key: 'does not belong to the certificate' })
    const spelled = generateKeyPairSync('ec', { namedCurve, paramEncoding: 'explicit' }).privateKey.export(
      pem,
    )
    t.match(issues(cert, String(spelled)), { key: 'gives its curve by parameters instead of by name' })
  }
  t.end()
})

t.test('certificates are described by subject, fingerprint and expiry', (t) => {
  const [leaf, root] = describeCertificates(cert + authority.pem)
  t.match(leaf, { subject: 'CN=leaf', fingerprint: /^[0-9a-f]{64}$/ })
  t.equal(root?.subject, 'CN=Sidevault test authority')
  t.ok((leaf?.expires ?? 0) > now)
  t.end()
})
