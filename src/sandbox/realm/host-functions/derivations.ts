/** Key derivation from passwords: slow by design, so it starts only if it will end within the remaining time. */
import { createHash, pbkdf2Sync, scryptSync } from 'node:crypto'
import { bytesOf, integerIn, outOfRange, textOf } from './bytes.ts'
import type { HostFunctions, Wire } from './types.ts'

const DERIVED = 65_536
const ROUNDS = 1_000_000
const SCRYPT_BYTES = 64 * 1024 * 1024
const SCRYPT_WORK = 2 ** 20
/** Work without a check of the time: about a millisecond, from which the rate is measured. */
const SAMPLE_ROUNDS = 1_000
const SAMPLE_COST = 512
const BLOCK = 8

interface ScryptOptions {
  readonly N?: number
  readonly r?: number
  readonly p?: number
}

/** Milliseconds per unit of work, by kind, as last measured in this process. */
const rates = new Map<string, number>()

const timed = (kind: string, units: number, work: () => Buffer): Buffer => {
  const began = performance.now()
  const result = work()
  rates.set(kind, (performance.now() - began) / units)
  return result
}

/** Output bytes per complete set of rounds. */
const blockOf = (digest: string): number => createHash(digest).digest().length

/** `timeLeft`: remaining milliseconds of the code. Longer work throws ERR_OUT_OF_RANGE. */
export const createDerivations = (timeLeft: () => number): HostFunctions => {
  const checkTime = (kind: string, units: number, sample: () => void, what: string) => {
    if (!rates.has(kind)) sample()
    const rate = rates.get(kind) ?? 0
    const left = timeLeft()
    if (units * rate > left)
      throw outOfRange(what, `small enough to complete in the remaining ${Math.max(0, Math.floor(left))} ms`)
  }

  const pbkdf2 = (password: Wire, salt: Wire, rounds: number, length: number, digest: string) => {
    integerIn('keylen', length, 0, DERIVED)
    const blocks = Math.max(1, Math.ceil(length / blockOf(digest)))
    integerIn('iterations', rounds, 1, Math.floor(ROUNDS / blocks))
    const derive = (count: number, bytes: number) => () =>
      pbkdf2Sync(bytesOf(password), bytesOf(salt), count, bytes, digest)
    const units = rounds * blocks
    if (units > SAMPLE_ROUNDS)
      checkTime(digest, units, () => timed(digest, SAMPLE_ROUNDS, derive(SAMPLE_ROUNDS, 1)), 'iterations')
    return textOf(timed(digest, units, derive(rounds, length)))
  }

  const scrypt = (
    password: Wire,
    salt: Wire,
    length: number,
    { N = 16_384, r = 8, p = 1 }: ScryptOptions,
  ) => {
    integerIn('keylen', length, 0, DERIVED)
    if (!(128 * N * r <= SCRYPT_BYTES && N * r * p <= SCRYPT_WORK))
      throw outOfRange('N, r and p', 'at most 64 MiB and 2^20 rounds in total')
    const derive = (options: Required<ScryptOptions>) => () =>
      scryptSync(bytesOf(password), bytesOf(salt), length, { ...options, maxmem: 2 * SCRYPT_BYTES })
    const small = { N: SAMPLE_COST, r: BLOCK, p: 1 }
    const units = N * r * p
    if (units > SAMPLE_COST * BLOCK)
      checkTime('scrypt', units, () => timed('scrypt', SAMPLE_COST * BLOCK, derive(small)), 'N, r and p')
    return textOf(timed('scrypt', units, derive({ N, r, p })))
  }

  return { 'crypto.pbkdf2': pbkdf2, 'crypto.scrypt': scrypt }
}
