/** The authority of `SIDEVAULT_FORWARD_CA`: a PEM file with certificate chain and key. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { identityErrors, type PemIssue, plainCertificates, plainKey } from '../common/certificates.ts'
import type { SigningAuthority } from './certificates.ts'

/** The issue of such a text, as the end of a sentence; undefined: it can sign. */
export const authorityFileIssue = (pem: string, now: number): PemIssue | undefined => {
  const issues = identityErrors({ certificate: pem, key: pem }, now)
  if (issues.certificate ?? issues.key) return issues.certificate ?? issues.key
  return new X509Certificate(plainCertificates(pem)).ca ? undefined : 'holds a certificate of no authority'
}

/** The authority of a text without an issue. */
export const fileAuthority = (pem: string): SigningAuthority => ({
  chain: plainCertificates(pem),
  key: createPrivateKey(plainKey(pem)),
})
