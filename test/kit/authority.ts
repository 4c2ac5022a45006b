import { webcrypto } from 'node:crypto'
import { createRequire } from 'node:module'

// The library registers itself with a reflection polyfill that has to be loaded first.
createRequire(import.meta.url)('reflect-metadata')
const x509 = await import('@peculiar/x509')
x509.cryptoProvider.set(webcrypto as never)

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

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY = 86_400_000

const toPem = (label: string, bytes: ArrayBuffer) =>
  `-----BEGIN ${label}-----\n${Buffer.from(bytes)
    .toString('base64')
    .replace(/.{64}/g, '$&\n')
    .trim()}\n-----END ${label}-----\n`

const keyPair = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])

/** A certificate authority that lives as long as the test. */
export const createAuthority = async (name = 'Sidevault test authority'): Promise<Authority> => {
  const keys = await keyPair()
  const now = Date.now()
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    notBefore: new Date(now - DAY),
    notAfter: new Date(now + DAY),
    signingAlgorithm: ALGORITHM,
    keys: keys as never,
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  })
  let serial = 1
  return {
    pem: `${root.toString('pem')}\n`,
    key: toPem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
    async issue(names, { expired = false } = {}) {
      const leaf = await keyPair()
      serial++
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: serial.toString(16).padStart(4, '0'),
        subject: 'CN=leaf',
        issuer: root.subject,
        notBefore: new Date(now - DAY),
        notAfter: new Date(expired ? now - 3_600_000 : now + DAY),
        signingAlgorithm: ALGORITHM,
        publicKey: leaf.publicKey as never,
        signingKey: keys.privateKey as never,
        extensions: [
          new x509.SubjectAlternativeNameExtension(
            names.map((value) => ({ type: /^[\d.]+$/.test(value) ? 'ip' : 'dns', value }) as const),
          ),
        ],
      })
      return {
        cert: `${certificate.toString('pem')}\n`,
        key: toPem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', leaf.privateKey)),
      }
    },
  }
}
