import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemBundle } from '../../egress/trust-bundle.ts'
import type { TrustFiles } from './environment.ts'
import { javaKeyStore } from './key-store.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

const certificatesIn = (pem: string): readonly string[] => [...new Set(pem.match(CERTIFICATE) ?? [])]

const pem = (certificates: readonly string[]): string => `${certificates.join('\n')}\n`

/** Empty when the variable is not set. Rejects when its file cannot be read. */
const readNamed = (path: string | undefined): Promise<string> =>
  path ? readFile(path, 'utf8') : Promise.resolve('')

export interface WrittenTrustFiles extends TrustFiles {
  remove(): Promise<void>
}

/**
 * Writes the files into a new directory of this user. The user's own bundle (SSL_CERT_FILE) and additions
 * (NODE_EXTRA_CA_CERTS) stay trusted.
 */
export const writeTrustFiles = async (
  caPem: string,
  env: Readonly<Record<string, string | undefined>>,
  now: number,
): Promise<WrittenTrustFiles> => {
  const added = certificatesIn(`${caPem}\n${await readNamed(env.NODE_EXTRA_CA_CERTS)}`)
  const system = env.SSL_CERT_FILE ? await readNamed(env.SSL_CERT_FILE) : await systemBundle()
  const all = certificatesIn(`${pem(added)}${system}`)
  const directory = await mkdtemp(join(tmpdir(), 'sidevault-run-'))
  const files = {
    added: join(directory, 'ca.pem'),
    bundle: join(directory, 'bundle.pem'),
    keyStore: join(directory, 'bundle.jks'),
  }
  await writeFile(files.added, pem(added))
  await writeFile(files.bundle, pem(all))
  await writeFile(files.keyStore, javaKeyStore(all, now))
  return { ...files, remove: () => rm(directory, { recursive: true, force: true }) }
}
