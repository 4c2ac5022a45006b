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

const make = async (files: DemoFiles, now: number): Promise<void> => {
  const { authorityCertificate, createSigner, newKey, pemOf } = await import(
    '../forward-proxy/certificates.ts'
  )
  const authority = newKey()
  const chain = pemOf(await authorityCertificate(authority, now, 'demo'))
  const signer = await createSigner({ chain, key: authority })
  const { certificate, key } = await signer.sign(DEMO_HOST, now, LIFETIME)
  const mode = { mode: 0o600 }
  await writeFile(files.key, key, mode)
  await writeFile(files.certificate, certificate, mode)
  await writeFile(files.authority, chain, mode)
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
