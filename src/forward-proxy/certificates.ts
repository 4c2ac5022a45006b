/** X.509 certificates (RFC 5280) of authorities and of hosts. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import { isIP } from 'node:net'

/** An authority that signs. */
export interface SigningAuthority {
  /** PEM of its certificate and, behind it, of those that issued it. */
  readonly chain: string
  readonly key: KeyObject
}

/** A certificate for one host, PEM: the chain as a server sends it, and its key. */
export interface Leaf {
  readonly host: string
  readonly certificate: string
  readonly key: string
  /** ms since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
}

const HOUR_MS = 3_600_000
const AUTHORITY_YEARS = 10
const LEAF_MS = 24 * HOUR_MS
/** Certificates are valid for clients whose clocks are slow. */
const BACKDATED_MS = HOUR_MS

/** Server authentication (RFC 5280 §4.2.1.12). */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
/** The longest common name (RFC 5280, appendix A.1). Longer hosts are in the subject alternative name only. */
const COMMON_NAME = 64

/** The library needs a reflection polyfill, which must be loaded first. Neither is loaded without a forward proxy. */
const library = async () => {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

/** Positive, 127 random bits. */
const serialNumber = (): string => {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8() & 0x7f) | 0x40)
  return bytes.toString('hex')
}

const CURVES: Readonly<Record<string, { readonly namedCurve: string; readonly hash: string }>> = {
  prime256v1: { namedCurve: 'P-256', hash: 'SHA-256' },
  secp384r1: { namedCurve: 'P-384', hash: 'SHA-384' },
  secp521r1: { namedCurve: 'P-521', hash: 'SHA-512' },
}

const algorithmOf = (key: KeyObject) => {
  const curve = CURVES[key.asymmetricKeyDetails?.namedCurve ?? '']
  return curve === undefined ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } : { name: 'ECDSA', ...curve }
}

const signingKey = async (key: KeyObject) => {
  const algorithm = algorithmOf(key)
  const der = key.export({ type: 'pkcs8', format: 'der' })
  try {
    return {
      algorithm,
      key: await globalThis.crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']),
    }
  } finally {
    der.fill(0)
  }
}

const spkiOf = (key: KeyObject) => createPublicKey(key).export({ type: 'spki', format: 'der' })

/** A new private key on P-256. */
export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** The certificate of a new authority for its own key, DER. `usage`: in its name. */
export const authorityCertificate = async (
  key: KeyObject,
  now: number,
  usage = 'forward proxy',
): Promise<Buffer> => {
  const x509 = await library()
  const { algorithm, key: signing } = await signingKey(key)
  const publicKey = new x509.PublicKey(spkiOf(key))
  const notAfter = new Date(now)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + AUTHORITY_YEARS)
  // Clients may trust two authorities at once, and find them by name.
  const name = `CN=Sidevault ${usage} ${new Date(now).toISOString().slice(0, 10)} ${randomBytes(3).toString('hex')}`
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: name,
    issuer: name,
    notBefore: new Date(now - BACKDATED_MS),
    notAfter,
    signingAlgorithm: algorithm,
    publicKey,
    signingKey: signing,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
    ],
  })
  return Buffer.from(certificate.rawData)
}

/** PEM of a DER certificate. Throws an Error when it cannot be read. */
export const pemOf = (der: Buffer): string => new X509Certificate(der).toString()

/** Signs certificates for hosts: DNS names, `*.` and a name, or addresses. */
export interface Signer {
  sign(host: string, now: number, lifetimeMs?: number): Promise<Leaf>
}

/** Throws an Error when the certificate cannot be read. */
export const createSigner = async (authority: SigningAuthority): Promise<Signer> => {
  const x509 = await library()
  const { algorithm, key: signing } = await signingKey(authority.key)
  const issuer = new x509.X509Certificate(authority.chain)
  const ends = issuer.notAfter.getTime()
  const identifier =
    issuer.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId ??
    (await x509.SubjectKeyIdentifierExtension.create(issuer.publicKey)).keyId
  // Not sent: clients have the root.
  const chain = issuer.issuer === issuer.subject ? '' : authority.chain
  return {
    sign: async (host, now, lifetimeMs = LEAF_MS) => {
      const key = newKey()
      const publicKey = new x509.PublicKey(spkiOf(key))
      const notBefore = Math.floor((now - BACKDATED_MS) / 1000) * 1000
      const notAfter = Math.min(now + lifetimeMs, ends)
      const name = host.length <= COMMON_NAME ? { subject: [{ CN: [host] }] } : {}
      const certificate = await x509.X509CertificateGenerator.create({
        ...name,
        serialNumber: serialNumber(),
        // The bytes of the issuer's name, which some clients compare.
        issuer: issuer.subjectName as never,
        notBefore: new Date(notBefore),
        notAfter: new Date(notAfter),
        signingAlgorithm: algorithm,
        publicKey,
        signingKey: signing,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
          new x509.SubjectAlternativeNameExtension(
            [{ type: isIP(host) === 0 ? 'dns' : 'ip', value: host }],
            host.length > COMMON_NAME,
          ),
          await x509.SubjectKeyIdentifierExtension.create(publicKey),
          new x509.AuthorityKeyIdentifierExtension(identifier),
        ],
      })
      return {
        host,
        certificate: `${certificate.toString('pem')}\n${chain}`,
        key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
        notBefore,
        notAfter,
      }
    },
  }
}

const COORDINATE = 32

/** The private key on P-256 with this scalar, 32 bytes. */
export const keyFromScalar = (scalar: Buffer, publicKey: Buffer): KeyObject =>
  createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      d: scalar.toString('base64url'),
      x: publicKey.subarray(1, 1 + COORDINATE).toString('base64url'),
      y: publicKey.subarray(1 + COORDINATE).toString('base64url'),
    },
  })
