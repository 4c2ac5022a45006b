import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { authorityCertificate, createSigner, newKey } from '../../src/forward-proxy/certificates.ts'
import { root } from '../kit/sources.ts'

type KeyName = 'P-256' | 'P-384' | 'P-521' | 'RSA'

interface Made {
  readonly now: number
  /** DER, base64. */
  readonly certificate: string
}

/** Certificates that the library `@peculiar/x509` 2.2.0 made of these inputs. */
const fixture: {
  readonly authorities: readonly (Made & { readonly key: KeyName; readonly usage?: string })[]
  readonly signers: readonly {
    readonly key: KeyName
    /** PEM of the chain. */
    readonly authority: string
    readonly leaves: readonly (Made & { readonly host: string; readonly lifetimeMs?: number })[]
  }[]
} = JSON.parse(readFileSync(join(root, 'test/forward-proxy/certificates.fixture.json'), 'utf8'))

const elliptic = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey
const KEYS: Readonly<Record<KeyName, () => KeyObject>> = {
  'P-256': newKey,
  'P-384': () => elliptic('P-384'),
  'P-521': () => elliptic('P-521'),
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
}

/** Where the value of the DER element at `at` begins and ends (ITU-T X.690, section 8.1). */
const elementAt = (der: Buffer, at: number): readonly [number, number] => {
  const first = der.readUInt8(at + 1)
  const sizeOfLength = first < 0x80 ? 0 : first - 0x80
  const length = sizeOfLength === 0 ? first : der.readUIntBE(at + 2, sizeOfLength)
  const start = at + 2 + sizeOfLength
  return [start, start + length]
}

/** Serial number, public key, its identifier and the random end of an authority's name are zeros. */
const signedPart = (der: Buffer): string => {
  const { serialNumber, publicKey, subject } = new X509Certificate(der)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const [afterAlgorithm] = elementAt(spki, elementAt(spki, elementAt(spki, 0)[0])[1])
  const key = spki.subarray(afterAlgorithm + 1)
  const random = / ([0-9a-f]{6})$/.exec(subject)?.[1]
  const [start] = elementAt(der, 0)
  const signed = Buffer.from(der.subarray(start, elementAt(der, start)[1]))
  const drawn = [
    Buffer.from(serialNumber, 'hex'),
    key,
    createHash('sha1').update(key).digest(),
    ...(random === undefined ? [] : [Buffer.from(random)]),
  ]
  for (const part of drawn)
    for (let at = signed.indexOf(part); at >= 0; at = signed.indexOf(part))
      signed.fill(0, at, at + part.length)
  return signed.toString('hex')
}

const stored = (certificate: string) => Buffer.from(certificate, 'base64')

for (const { key, now, usage, certificate } of fixture.authorities)
  t.test(
    `the certificate of an authority on ${key} of ${new Date(now).toISOString()} has the same bytes`,
    async (t) => {
      const own = KEYS[key]()
      const der = await authorityCertificate(own, now, usage)
      t.equal(signedPart(der), signedPart(stored(certificate)))
      const made = new X509Certificate(der)
      t.ok(made.verify(made.publicKey), 'its signature is valid')
      t.ok(made.checkPrivateKey(own))
    },
  )

for (const { key, authority, leaves } of fixture.signers)
  t.test(
    `certificates of hosts by ${new X509Certificate(authority).subject} on ${key} have the same bytes`,
    async (t) => {
      const own = KEYS[key]()
      const signer = await createSigner({ chain: authority, key: own })
      for (const { host, now, lifetimeMs, certificate } of leaves) {
        const leaf = await signer.sign(host, now, lifetimeMs)
        const { raw } = new X509Certificate(leaf.certificate)
        t.equal(signedPart(raw), signedPart(stored(certificate)), `${host} at ${now}`)
        t.equal(leaf.notAfter, Math.min(leaf.notAfter, Date.parse(new X509Certificate(authority).validTo)))
        t.ok(new X509Certificate(raw).verify(createPublicKey(own)), 'its signature is valid')
      }
    },
  )

t.test('keys that Envoy does not accept sign nothing', async (t) => {
  await t.rejects(authorityCertificate(elliptic('secp256k1'), 0), /P-256, P-384 or P-521/)
  await t.rejects(authorityCertificate(generateKeyPairSync('ed25519').privateKey, 0), /P-256, P-384 or P-521/)
})
