import { X509Certificate } from 'node:crypto'
import { newKey, pemOf } from '../../src/forward-proxy/certificates.ts'
import {
  alternativeNames,
  basicConstraints,
  issuerOf,
  keyUsage,
  nameOf,
  signCertificate,
} from '../../src/forward-proxy/x509.ts'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  /** PEM, PKCS #8. */
  readonly key: string
}

export interface Authority {
  /** PEM of the authority's own certificate. */
  readonly pem: string
  /** Its private key, PEM, PKCS #8. */
  readonly key: string
  issue(names: readonly string[], options?: { readonly expired?: boolean }): Promise<Certificate>
}

const DAY = 86_400_000

const keyPem = (key: ReturnType<typeof newKey>) => String(key.export({ type: 'pkcs8', format: 'pem' }))

/** A certificate authority that lives as long as the test. */
export const createAuthority = async (name = 'Sidevault test authority'): Promise<Authority> => {
  const key = newKey()
  const now = Date.now()
  const times = { notBefore: now - DAY, notAfter: now + DAY }
  const root = await signCertificate(
    {
      serialNumber: Buffer.of(1),
      subject: nameOf(name),
      issuer: nameOf(name),
      ...times,
      key,
      extensions: [basicConstraints(1), keyUsage('signs certificates')],
    },
    key,
  )
  const issuer = issuerOf(new X509Certificate(root))
  let serial = 1
  return {
    pem: pemOf(root),
    key: keyPem(key),
    async issue(names, { expired = false } = {}) {
      const leaf = newKey()
      serial++
      const certificate = await signCertificate(
        {
          serialNumber: Buffer.of(1, serial),
          subject: nameOf('leaf'),
          issuer: issuer.name,
          ...times,
          ...(expired ? { notAfter: now - 3_600_000 } : {}),
          key: leaf,
          extensions: [alternativeNames(names)],
        },
        key,
      )
      return { cert: pemOf(certificate), key: keyPem(leaf) }
    },
  }
}
