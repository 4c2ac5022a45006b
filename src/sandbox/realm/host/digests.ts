/** Digests, random bytes and keys derived from passwords. */
import {
  createHash,
  createHmac,
  hkdfSync,
  pbkdf2Sync,
  randomBytes,
  randomInt,
  randomUUID,
  scryptSync,
} from 'node:crypto'
import { allBytesOf, bytesOf, outOfRange, textOf, whole } from './bytes.ts'
import type { HostFunctions, Wire } from './types.ts'

const RANDOM = 65_536
const DERIVED = 65_536
const ROUNDS = 1_000_000
const SCRYPT_BYTES = 64 * 1024 * 1024
const SCRYPT_WORK = 2 ** 20

/** Bytes that the rounds give at once; as many more cost all of them again. */
const blockOf = (digest: string): number => createHash(digest).digest().length

interface ScryptOptions {
  readonly N?: number
  readonly r?: number
  readonly p?: number
}

const scrypt = (password: Wire, salt: Wire, length: number, { N = 16_384, r = 8, p = 1 }: ScryptOptions) => {
  whole('keylen', length, 0, DERIVED)
  if (!(128 * N * r <= SCRYPT_BYTES && N * r * p <= SCRYPT_WORK))
    throw outOfRange('N, r and p', 'of at most 64 MiB and 2^20 rounds together')
  const options = { N, r, p, maxmem: 2 * SCRYPT_BYTES }
  return textOf(scryptSync(bytesOf(password), bytesOf(salt), length, options))
}

const pbkdf2 = (password: Wire, salt: Wire, rounds: number, length: number, digest: string) => {
  whole('keylen', length, 0, DERIVED)
  whole('iterations', rounds, 1, Math.floor(ROUNDS / Math.max(1, Math.ceil(length / blockOf(digest)))))
  return textOf(pbkdf2Sync(bytesOf(password), bytesOf(salt), rounds, length, digest))
}

export const digests: HostFunctions = {
  'crypto.hash': (
    algorithm: string,
    chunks: readonly Wire[],
    outputLength: number | null,
    encoding?: string,
  ) => {
    const options =
      outputLength === null ? {} : { outputLength: whole('outputLength', outputLength, 0, DERIVED) }
    return textOf(createHash(algorithm, options).update(allBytesOf(chunks)).digest(), encoding)
  },
  'crypto.hmac': (algorithm: string, key: Wire, chunks: readonly Wire[], encoding?: string) =>
    textOf(createHmac(algorithm, bytesOf(key)).update(allBytesOf(chunks)).digest(), encoding),
  'crypto.random': (size: number) => textOf(randomBytes(whole('size', size, 0, RANDOM))),
  'crypto.randomInt': (least: number, beyond: number) => randomInt(least, beyond),
  'crypto.randomUUID': () => randomUUID(),
  'crypto.pbkdf2': pbkdf2,
  'crypto.scrypt': scrypt,
  'crypto.hkdf': (digest: string, key: Wire, salt: Wire, info: Wire, length: number) =>
    textOf(
      new Uint8Array(
        hkdfSync(digest, bytesOf(key), bytesOf(salt), bytesOf(info), whole('keylen', length, 0, DERIVED)),
      ),
    ),
}
