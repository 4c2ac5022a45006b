import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { rootCertificates } from 'node:tls'
import { certificatesIn } from '../common/certificates.ts'

/** Locations of the system's bundle: Debian, Fedora, SUSE, newer Fedora, Alpine and macOS. */
const SYSTEM_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** The system's authorities, otherwise Node's own list; PEM. */
export const systemBundle = async (): Promise<string> => {
  for (const path of SYSTEM_BUNDLES) {
    const text = await readFile(path, 'utf8').catch(() => '')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  }
  return rootCertificates.join('\n')
}

const withSystem = async (extra?: string): Promise<string> => {
  const parts = [await systemBundle()]
  if (extra !== undefined) {
    const certificates = certificatesIn(extra)
    if (certificates.length === 0) throw new Error('there is no PEM certificate among the authorities')
    parts.push(certificates.join('\n'))
  }
  return `${parts.map((part) => part.trim()).join('\n')}\n`
}

/**
 * The authorities trusted for destinations, PEM: the system's (otherwise Node's own list), and those of the PEM file
 * `extra`. Rejects if `extra` cannot be read or contains no certificate.
 */
export const trustBundle = async (extra?: string): Promise<string> =>
  withSystem(extra === undefined ? undefined : await readFile(extra, 'utf8'))

/**
 * Writes the system's authorities, and those of the PEM text `extra`, to a file of `directory`, and resolves with its
 * path. The file name is a hash of the content, and the file is written atomically, as starting processes read it.
 * Earlier bundles remain until `removeTrustBundles`. Rejects if `extra` contains no certificate.
 */
export const writeTrustBundle = async (directory: string, extra?: string): Promise<string> => {
  const bundle = await withSystem(extra)
  const path = `${directory}/trust-${createHash('sha256').update(bundle).digest('hex').slice(0, 16)}.pem`
  const temporary = `${path}.fresh`
  await writeFile(temporary, bundle, { mode: 0o600 })
  await rename(temporary, path)
  return path
}

/** Removes the bundles of `directory` for whose path `isNeeded` returns false. */
export const removeTrustBundles = async (
  directory: string,
  isNeeded: (path: string) => boolean,
): Promise<void> => {
  const paths = (await readdir(directory)).map((name) => `${directory}/${name}`)
  for (const path of paths)
    if (/\/trust-[0-9a-f]{16}\.pem(\.fresh)?$/.test(path) && !isNeeded(path)) await rm(path, { force: true })
}
