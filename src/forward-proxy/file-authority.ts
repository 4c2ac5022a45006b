/** The authority of `SIDEVAULT_FORWARD_CA`: a PEM file with certificate chain and key. */
import { createPrivateKey } from 'node:crypto'
import { plainCertificates, plainKey, signerError } from '../common/certificates.ts'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { readSecretFile } from '../common/secret-file.ts'
import type { SigningAuthority } from './certificates.ts'

const MAX_FILE_BYTES = 65_536

/** Reads the file. Rejects with `invalid` when other users may read it, or it holds no authority that can sign. */
export const readAuthority = async (path: string, clock: Clock): Promise<SigningAuthority> => {
  const pem = (await readSecretFile(path, MAX_FILE_BYTES)) ?? ''
  const issue = signerError(pem, clock.now())
  if (issue !== undefined)
    throw new AppError('invalid', `The file "${path}" of SIDEVAULT_FORWARD_CA ${issue}. Replace it.`)
  return { chain: plainCertificates(pem), key: createPrivateKey(plainKey(pem)) }
}
