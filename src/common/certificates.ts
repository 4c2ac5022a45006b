/** Checks of certificates and keys by Envoy's rules, before Envoy gets them. */
import {
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'

/** End of a sentence whose subject is the file or field, e.g. `expired at …`. */
type PemIssue = string

class PemError extends Error {}

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\r\n\t ]+-----END CERTIFICATE-----/g

/** Curves and sizes that Envoy accepts (BoringSSL). */
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']
const RSA_BITS = [2048, 8192] as const
const MAX_EXPONENT = 2n ** 32n

/** Certificates of a PEM text, in order. Throws PemError. */
const parse = (pem: string): X509Certificate[] => {
  const blocks = pem.match(CERTIFICATES)
  if (blocks === null) throw new PemError('holds no PEM certificate')
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block)
    } catch {
      throw new PemError(`holds a certificate that cannot be read (number ${index + 1})`)
    }
  })
}

const timeError = (certificate: X509Certificate, now: number): PemIssue | undefined => {
  if (Date.parse(certificate.validTo) <= now)
    return `expired at ${new Date(certificate.validTo).toISOString()}`
  if (Date.parse(certificate.validFrom) > now)
    return `is not valid before ${new Date(certificate.validFrom).toISOString()}`
  return undefined
}

const attempt = <T>(work: () => T): { readonly value: T } | { readonly error: PemIssue } => {
  try {
    return { value: work() }
  } catch (thrown) {
    if (thrown instanceof PemError) return { error: thrown.message }
    throw thrown
  }
}

const chainOf = (pem: string, now: number): X509Certificate => {
  const chain = parse(pem)
  const [leaf] = chain as [X509Certificate]
  const issue = timeError(leaf, now)
  if (issue !== undefined) throw new PemError(issue)
  for (const [index, certificate] of chain.entries()) {
    const issuer = chain[index + 1]
    if (issuer !== undefined && !certificate.checkIssued(issuer))
      throw new PemError(`is no chain: certificate ${index + 2} did not issue certificate ${index + 1}`)
  }
  return leaf
}

const numberIn = (jwk: JsonWebKey, name: keyof JsonWebKey): bigint =>
  BigInt(`0x0${Buffer.from(String(jwk[name] ?? ''), 'base64url').toString('hex')}`)

/** BoringSSL checks what OpenSSL does not: two primes, and consistent numbers (RFC 8017 §3.2). */
const isValid = (jwk: JsonWebKey): boolean => {
  const number = (name: keyof JsonWebKey) => numberIn(jwk, name)
  const [n, e, d, p, q] = [number('n'), number('e'), number('d'), number('p'), number('q')]
  if (p < 3n || q < 3n || p * q !== n) return false
  const [dp, dq] = [d % (p - 1n), d % (q - 1n)]
  const inverse = (e * dp) % (p - 1n) === 1n && (e * dq) % (q - 1n) === 1n
  return inverse && number('dp') === dp && number('dq') === dq && (number('qi') * q) % p === 1n
}

/** The key with its curve by name: BoringSSL rejects explicit curve parameters. Throws for an invalid key. */
const privateAsNamed = (jwk: JsonWebKey): Buffer =>
  createPrivateKey({ key: jwk, format: 'jwk' }).export({ type: 'pkcs8', format: 'der' })

const isNamed = (key: KeyObject): boolean => {
  const jwk = key.export({ format: 'jwk' })
  try {
    return key.type === 'private'
      ? privateAsNamed(jwk).equals(key.export({ type: 'pkcs8', format: 'der' }))
      : createPublicKey({ key: jwk, format: 'jwk' })
          .export({ type: 'spki', format: 'der' })
          .equals(key.export({ type: 'spki', format: 'der' }))
  } catch {
    return false
  }
}

const keyOf = (pem: string): KeyObject => {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw new PemError('is no PEM private key without a passphrase')
  }
  const { namedCurve = '', modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const [least, most] = RSA_BITS
  const good =
    key.asymmetricKeyType === 'rsa'
      ? modulusLength >= least && modulusLength <= most
      : key.asymmetricKeyType === 'ec' && CURVES.includes(namedCurve)
  if (!good) throw new PemError(`is neither RSA of ${least} to ${most} bits nor EC on P-256, P-384 or P-521`)
  if (publicExponent > MAX_EXPONENT) throw new PemError(`has a public exponent above ${MAX_EXPONENT}`)
  if (key.asymmetricKeyType === 'rsa' && !isValid(key.export({ format: 'jwk' })))
    throw new PemError('is an RSA key of more than two primes, or its numbers are inconsistent')
  if (!isNamed(key)) throw new PemError('gives its curve by parameters instead of by name')
  return key
}

/** Issues of a certificate chain (leaf first) and its key; empty when Envoy accepts them. */
export const identityErrors = (
  { certificate, key }: { readonly certificate: string; readonly key: string },
  now: number,
): { readonly certificate?: PemIssue; readonly key?: PemIssue } => {
  const leaf = attempt(() => chainOf(certificate, now))
  const secret = attempt(() => keyOf(key))
  const both = 'value' in leaf && 'value' in secret ? { leaf: leaf.value, secret: secret.value } : undefined
  const foreign = both !== undefined && !both.leaf.checkPrivateKey(both.secret)
  const unnamed = both !== undefined && !foreign && !isNamed(both.leaf.publicKey)
  return {
    ...(unnamed ? { certificate: 'gives its curve by parameters instead of by name' } : {}),
    ...('error' in leaf ? { certificate: leaf.error } : {}),
    ...('error' in secret ? { key: secret.error } : {}),
    ...(foreign ? { key: 'does not belong to the certificate' } : {}),
  }
}

/** Issue of a PEM text with the certificate chain of an authority and its key; undefined when it can sign. */
export const signerError = (pem: string, now: number): PemIssue | undefined => {
  const { certificate, key } = identityErrors({ certificate: pem, key: pem }, now)
  if (certificate !== undefined || key !== undefined) return certificate ?? key
  return parse(pem)[0]?.ca ? undefined : 'holds the certificate of a server, not of an authority'
}

/**
 * Issue of the authorities in a PEM text; undefined when Envoy accepts them and at least one is valid now. An expired
 * authority beside valid ones is no issue: it must not block a start or a renewed edge certificate.
 */
export const authorityError = (pem: string, now: number): PemIssue | undefined => {
  const all = attempt(() => parse(pem))
  if ('error' in all) return all.error
  const errors = all.value.map((certificate) => timeError(certificate, now))
  return errors.includes(undefined) ? undefined : errors[0]
}

/** The blocks of the certificates in a PEM text, in order. */
export const certificatesIn = (pem: string): readonly string[] => pem.match(CERTIFICATES) ?? []

/** Certificates of a PEM text, without any other text. */
export const plainCertificates = (pem: string): string => `${certificatesIn(pem).join('\n')}\n`

/** A valid private key as PKCS #8. */
export const plainKey = (pem: string): string =>
  keyOf(pem).export({ type: 'pkcs8', format: 'pem' }).toString()

export interface CertificateInfo {
  /** e.g. `CN=shop, O=Example`. */
  readonly subject: string
  /** SHA-256 of the certificate, hexadecimal, in lower case. */
  readonly fingerprint: string
  /** Milliseconds since the epoch. */
  readonly expires: number
}

/** Certificates of a valid PEM text. */
export const describeCertificates = (pem: string): readonly CertificateInfo[] =>
  parse(pem).map((certificate) => ({
    subject: certificate.subject.split('\n').join(', '),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    expires: Date.parse(certificate.validTo),
  }))
