/** Digests, random bytes and HKDF. */
import { createHash, createHmac, hkdfSync, randomBytes, randomInt, randomUUID } from 'node:crypto'
import { allBytesOf, bytesOf, integerIn, textOf } from './bytes.ts'
import type { HostFunctions, Wire } from './types.ts'

const RANDOM = 65_536
const DERIVED = 65_536

export const digests: HostFunctions = {
  'crypto.hash': (
    algorithm: string,
    chunks: readonly Wire[],
    outputLength: number | null,
    encoding?: string,
  ) => {
    const options =
      outputLength === null ? {} : { outputLength: integerIn('outputLength', outputLength, 0, DERIVED) }
    return textOf(createHash(algorithm, options).update(allBytesOf(chunks)).digest(), encoding)
  },
  'crypto.hmac': (algorithm: string, key: Wire, chunks: readonly Wire[], encoding?: string) =>
    textOf(createHmac(algorithm, bytesOf(key)).update(allBytesOf(chunks)).digest(), encoding),
  'crypto.random': (size: number) => textOf(randomBytes(integerIn('size', size, 0, RANDOM))),
  'crypto.randomInt': (least: number, beyond: number) => randomInt(least, beyond),
  'crypto.randomUUID': () => randomUUID(),
  'crypto.hkdf': (digest: string, key: Wire, salt: Wire, info: Wire, length: number) =>
    textOf(
      new Uint8Array(
        hkdfSync(digest, bytesOf(key), bytesOf(salt), bytesOf(info), integerIn('keylen', length, 0, DERIVED)),
      ),
    ),
}
