import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'

/** Not resolved by DNS: Envoy has a static cluster for it. */
export const DEMO_HOST = 'demo.sidevault.test'

const DAY = 24 * 60 * 60 * 1000
const LIFETIME = 3650 * DAY

const paths = (directory: string) => ({
  authority: `${directory}/demo-ca.pem`,
  certificate: `${directory}/demo-cert.pem`,
  key: `${directory}/demo-key.pem`,
})

export type DemoFiles = ReturnType<typeof paths>

const areValid = async (files: DemoFiles, now: number): Promise<boolean> => {
  try {
    const authority = new X509Certificate(await readFile(files.authority))
    const certificate = new X509Certificate(await readFile(files.certificate))
    const isPair = certificate.checkPrivateKey(createPrivateKey(await readFile(files.key)))
    const lasts = Date.parse(certificate.validTo) > now + 30 * DAY
    return isPair && certificate.verify(authority.publicKey) && lasts
  } catch {
    return false
  }
}

const pem = (key: ArrayBuffer): string =>
  `-----BEGIN PRIVATE KEY-----\n${Buffer.from(key)
    .toString('base64')
    .replace(/.{64}/g, '$&\n')
    .trimEnd()}\n-----END PRIVATE KEY-----\n`

const make = async (files: DemoFiles, now: number): Promise<void> => {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const { subtle } = globalThis.crypto
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const span = { notBefore: new Date(now - DAY), notAfter: new Date(now + LIFETIME) }
  const authorityKeys = await subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...span,
    serialNumber: '01',
    name: 'CN=Sidevault demo authority',
    signingAlgorithm: algorithm,
    keys: authorityKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })
  const keys = await subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    ...span,
    serialNumber: '02',
    subject: `CN=${DEMO_HOST}`,
    issuer: authority.subject,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: DEMO_HOST }]),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.1']), // server authentication (RFC 5280 §4.2.1.12)
    ],
  })
  const mode = { mode: 0o600 }
  await writeFile(files.key, pem(await subtle.exportKey('pkcs8', keys.privateKey)), mode)
  await writeFile(files.certificate, `${certificate.toString('pem')}\n`, mode)
  await writeFile(files.authority, `${authority.toString('pem')}\n`, mode)
}

/**
 * Certificate, key and authority of the demo destination as PEM files. Created if absent, damaged or about to expire.
 */
export const ensureDemoCertificate = async (directory: string, now: number): Promise<DemoFiles> => {
  const files = paths(directory)
  if (!(await areValid(files, now))) await make(files, now)
  return files
}

export const demoFiles = paths
