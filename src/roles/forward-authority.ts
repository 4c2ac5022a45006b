import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import { type Authority, createAuthority } from '../forward-proxy/authority.ts'
import { authorityFileIssue, fileAuthority } from '../forward-proxy/file-authority.ts'
import { readSecretFile } from '../keys/secret-file.ts'
import type { Keys } from '../keys/types.ts'
import type { Store } from '../store/types.ts'

/** Bytes of the file: a chain of certificates and a key. */
const LARGEST = 65_536

const fromFile = async (path: string) => {
  const pem = await readSecretFile(path, LARGEST)
  const issue = pem === undefined ? 'cannot be read' : authorityFileIssue(pem, systemClock.now())
  if (pem === undefined || issue !== undefined)
    throw new AppError(
      'invalid',
      `The file "${path}" of SIDEVAULT_FORWARD_CA ${issue}. Name a PEM file with the certificate chain of an authority, its own first, and its key.`,
    )
  return fileAuthority(pem)
}

/** The authority of the forward proxy: that of `SIDEVAULT_FORWARD_CA`, or the store's. Rejects with `invalid` for a wrong file. */
export const openAuthority = async (
  { forwardCa }: Pick<Config, 'forwardCa'>,
  { keys, store }: { readonly keys: Keys; readonly store: Store },
): Promise<Authority> =>
  createAuthority(
    { keys, store: store.keys, clock: systemClock },
    forwardCa === undefined ? undefined : await fromFile(forwardCa),
  )
