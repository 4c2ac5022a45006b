import { readFile, writeFile } from 'node:fs/promises'
import { rootCertificates } from 'node:tls'

/** Where systems keep their bundle: Debian, Fedora, SUSE, newer Fedora, Alpine and macOS. */
const SYSTEM_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

const systemBundle = async (): Promise<string> => {
  for (const path of SYSTEM_BUNDLES) {
    const text = await readFile(path, 'utf8').catch(() => '')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  }
  return rootCertificates.join('\n')
}

/**
 * The authorities trusted for destinations, PEM: the system's (Node's own list where the system has none), and those of
 * the PEM file `extra`. Throws an Error when `extra` cannot be read or holds no certificate.
 */
export const trustBundle = async (extra?: string): Promise<string> => {
  const parts = [await systemBundle()]
  if (extra !== undefined) {
    const certificates = (await readFile(extra, 'utf8')).match(CERTIFICATE)
    if (!certificates) throw new Error(`"${extra}" holds no PEM certificate`)
    parts.push(certificates.join('\n'))
  }
  return `${parts.map((part) => part.trim()).join('\n')}\n`
}

/** Writes `trustBundle` to `path`. */
export const writeTrustBundle = async (path: string, extra?: string): Promise<void> =>
  writeFile(path, await trustBundle(extra), { mode: 0o600 })
