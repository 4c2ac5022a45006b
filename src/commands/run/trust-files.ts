import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { certificatesIn } from '../../common/certificates.ts'
import { codeOf } from '../../common/errors.ts'
import { systemBundle } from '../../egress/trust-bundle.ts'
import { StartError } from '../../supervisor/start-error.ts'
import type { TrustFiles } from './environment.ts'
import { javaKeyStore } from './key-store.ts'

const distinct = (pem: string): readonly string[] => [...new Set(certificatesIn(pem))]

const pem = (certificates: readonly string[]): string => `${certificates.join('\n')}\n`

const keyStoreOf = (certificates: readonly string[], now: number): Buffer => {
  try {
    return javaKeyStore(certificates, now)
  } catch {
    throw new StartError(
      'A certificate of SSL_CERT_FILE or NODE_EXTRA_CA_CERTS is damaged. Repair or unset them, and retry.',
    )
  }
}

type Environment = Readonly<Record<string, string | undefined>>

interface WrittenTrustFiles extends TrustFiles {
  remove(): Promise<void>
}

/**
 * Writes the files into a new directory of this user. The user's own bundle (SSL_CERT_FILE) and additions
 * (NODE_EXTRA_CA_CERTS) stay trusted; relative paths are relative to `cwd`. Rejects with StartError when a file cannot
 * be read or written.
 */
export const writeTrustFiles = async (
  caPem: string,
  { env, cwd, now }: { readonly env: Environment; readonly cwd: string; readonly now: number },
): Promise<WrittenTrustFiles> => {
  /** Empty when the variable is not set. */
  const readNamed = async (name: 'NODE_EXTRA_CA_CERTS' | 'SSL_CERT_FILE'): Promise<string> => {
    const path = env[name]
    if (!path) return ''
    return readFile(resolve(cwd, path), 'utf8').catch((error: unknown) => {
      throw new StartError(
        `The file "${path}" of ${name} cannot be read (${codeOf(error)}). Repair or unset it, and retry.`,
      )
    })
  }
  const added = distinct(`${caPem}\n${await readNamed('NODE_EXTRA_CA_CERTS')}`)
  const system = env.SSL_CERT_FILE ? await readNamed('SSL_CERT_FILE') : await systemBundle()
  const all = distinct(`${pem(added)}${system}`)
  const keyStore = keyStoreOf(all, now)
  const parent = resolve(cwd, tmpdir())
  let directory: string | undefined
  const remove = async () => {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true })
  }
  try {
    directory = await mkdtemp(join(parent, 'sidevault-run-'))
    const files = {
      added: join(directory, 'ca.pem'),
      bundle: join(directory, 'bundle.pem'),
      keyStore: join(directory, 'bundle.jks'),
    }
    await writeFile(files.added, pem(added))
    await writeFile(files.bundle, pem(all))
    await writeFile(files.keyStore, keyStore)
    return { ...files, remove }
  } catch (error) {
    await remove()
    throw new StartError(
      `The files with trusted authorities cannot be written to "${parent}" (${codeOf(error) || String(error)}). Set TMPDIR to a directory that this user owns.`,
    )
  }
}
