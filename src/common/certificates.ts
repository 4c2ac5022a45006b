/** What certificates and keys must be for Envoy to use them, told before it is given them. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

/** What is wrong, as the end of a sentence that begins with the name of what holds it. */
export type PemFault = string

class PemError extends Error {}

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\r\n\t ]+-----END CERTIFICATE-----/g

/** Curves and sizes that Envoy takes (BoringSSL). */
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']
const RSA_BITS = [2048, 8192] as const

/** The certificates of a PEM text, in its order. Throws PemError. */
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

const timeFault = (certificate: X509Certificate, now: number): PemFault | undefined => {
  if (Date.parse(certificate.validTo) <= now)
    return `expired at ${new Date(certificate.validTo).toISOString()}`
  if (Date.parse(certificate.validFrom) > now)
    return `is not valid before ${new Date(certificate.validFrom).toISOString()}`
  return undefined
}

const attempt = <T>(work: () => T): { readonly value: T } | { readonly fault: PemFault } => {
  try {
    return { value: work() }
  } catch (thrown) {
    if (thrown instanceof PemError) return { fault: thrown.message }
    throw thrown
  }
}

const chainOf = (pem: string, now: number): X509Certificate => {
  const chain = parse(pem)
  const [leaf] = chain as [X509Certificate]
  const late = timeFault(leaf, now)
  if (late !== undefined) throw new PemError(late)
  for (const [index, certificate] of chain.entries()) {
    const issuer = chain[index + 1]
    if (issuer !== undefined && !certificate.checkIssued(issuer))
      throw new PemError(`is no chain: certificate ${index + 2} did not issue certificate ${index + 1}`)
  }
  return leaf
}

const keyOf = (pem: string): KeyObject => {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw new PemError('is no PEM private key without a passphrase')
  }
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  const [least, most] = RSA_BITS
  const good =
    key.asymmetricKeyType === 'rsa'
      ? modulusLength >= least && modulusLength <= most
      : key.asymmetricKeyType === 'ec' && CURVES.includes(namedCurve)
  if (!good) throw new PemError(`is neither RSA of ${least} to ${most} bits nor EC on P-256, P-384 or P-521`)
  return key
}

/** What is wrong with a certificate chain (its own certificate first) and its key; empty when Envoy takes them. */
export const identityFaults = (
  { certificate, key }: { readonly certificate: string; readonly key: string },
  now: number,
): { readonly certificate?: PemFault; readonly key?: PemFault } => {
  const leaf = attempt(() => chainOf(certificate, now))
  const secret = attempt(() => keyOf(key))
  const foreign = 'value' in leaf && 'value' in secret && !leaf.value.checkPrivateKey(secret.value)
  return {
    ...('fault' in leaf ? { certificate: leaf.fault } : {}),
    ...('fault' in secret ? { key: secret.fault } : {}),
    ...(foreign ? { key: 'does not belong to the certificate' } : {}),
  }
}

/** What is wrong with the authorities of a PEM text; undefined when Envoy takes them. */
export const authorityFault = (pem: string, now: number): PemFault | undefined => {
  const all = attempt(() => parse(pem))
  if ('fault' in all) return all.fault
  return all.value.map((one) => timeFault(one, now)).find((fault) => fault !== undefined)
}

/** The certificates of a PEM text and nothing else of it. */
export const plainCertificates = (pem: string): string => `${(pem.match(CERTIFICATES) ?? []).join('\n')}\n`

/** The same for a key that has no fault: PKCS #8. */
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

/** The certificates of a PEM text that has no fault. */
export const describeCertificates = (pem: string): readonly CertificateInfo[] =>
  parse(pem).map((certificate) => ({
    subject: certificate.subject.split('\n').join(', '),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    expires: Date.parse(certificate.validTo),
  }))
