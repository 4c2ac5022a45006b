/** X.509 certificates (RFC 5280) of authorities and of hosts. */
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'

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

/** The longest common name (RFC 5280, appendix A.1). Longer hosts are in the subject alternative name only. */
const COMMON_NAME = 64

/** Not loaded without a forward proxy. */
const library = () => import('./x509.ts')

/** Positive, 127 random bits. */
const serialNumber = (): Buffer => {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8() & 0x7f) | 0x40)
  return bytes
}

/** A new private key on P-256. */
export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** The certificate of a new authority for its own key, DER. `usage`: in its name. */
export const authorityCertificate = async (
  key: KeyObject,
  now: number,
  usage = 'forward proxy',
): Promise<Buffer> => {
  const x509 = await library()
  const notAfter = new Date(now)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + AUTHORITY_YEARS)
  // Clients may trust two authorities at once, and find them by name.
  const name = x509.nameOf(
    `Sidevault ${usage} ${new Date(now).toISOString().slice(0, 10)} ${randomBytes(3).toString('hex')}`,
  )
  return x509.signCertificate(
    {
      serialNumber: serialNumber(),
      subject: name,
      issuer: name,
      notBefore: now - BACKDATED_MS,
      notAfter: notAfter.getTime(),
      key,
      extensions: [
        x509.basicConstraints(0),
        x509.keyUsage('signs certificates'),
        x509.subjectKeyIdentifier(key),
      ],
    },
    key,
  )
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
  const certificate = new X509Certificate(authority.chain)
  const issuer = x509.issuerOf(certificate)
  const ends = Date.parse(certificate.validTo)
  // Not sent: clients have the root.
  const chain = certificate.issuer === certificate.subject ? '' : authority.chain
  return {
    sign: async (host, now, lifetimeMs = LEAF_MS) => {
      const key = newKey()
      const notBefore = Math.floor((now - BACKDATED_MS) / 1000) * 1000
      const notAfter = Math.min(now + lifetimeMs, ends)
      const isLong = host.length > COMMON_NAME
      const der = await x509.signCertificate(
        {
          serialNumber: serialNumber(),
          issuer: issuer.name,
          subject: x509.nameOf(isLong ? undefined : host),
          notBefore,
          notAfter,
          key,
          extensions: [
            x509.basicConstraints(),
            x509.keyUsage('signs handshakes'),
            x509.serverAuthentication(),
            x509.alternativeNames([host], isLong),
            x509.subjectKeyIdentifier(key),
            issuer.identifier,
          ],
        },
        authority.key,
      )
      return {
        host,
        certificate: pemOf(der) + chain,
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
