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
/** The fastest of these counts: a pause of the machine is not the rate. */
const SAMPLES = 3
/** Bytes that are hashed in the time of a round, at least. */
const BYTES_PER_ROUND = 128
/** scrypt per unit compared to its sample, which fits the processor's cache. */
const SCRYPT_MARGIN = 1.5
const SCRYPT_DIGEST = 'sha256'

interface ScryptOptions {
  readonly N?: number
  readonly r?: number
  readonly p?: number
}

/** Milliseconds per unit of work, by kind. Programs share them, so no input of a program affects them. */
const rates = new Map<string, number>()

const rateOf = (kind: string, units: number, sample: () => void): number => {
  const known = rates.get(kind)
  if (known !== undefined) return known
  let fastest = Infinity
  for (let i = 0; i < SAMPLES; i++) {
    const began = performance.now()
    sample()
    fastest = Math.min(fastest, performance.now() - began)
  }
  rates.set(kind, fastest / units)
  return fastest / units
}

/** Milliseconds of an HMAC round of this digest. */
const roundMs = (digest: string): number =>
  rateOf(`hmac ${digest.toLowerCase()}`, SAMPLE_ROUNDS, () =>
    pbkdf2Sync('password', 'salt', SAMPLE_ROUNDS, 1, digest),
  )

/** Milliseconds of a unit of `N * r * p`. */
const mixMs = (): number =>
  rateOf('scrypt', SAMPLE_COST * BLOCK, () =>
    scryptSync('password', 'salt', 1, { N: SAMPLE_COST, r: BLOCK, p: 1 }),
  )

/** Complete sets of rounds for an output. */
const blocksOf = (length: number, digest: string): number =>
  Math.max(1, Math.ceil(length / createHash(digest).digest().length))

/** Time of PBKDF2 in rounds. The password is hashed once, the salt for each block. */
const roundsOf = (passwordBytes: number, saltBytes: number, blocks: number, rounds: number): number =>
  passwordBytes / BYTES_PER_ROUND + blocks * (rounds + saltBytes / BYTES_PER_ROUND)

/** `timeLeft`: remaining milliseconds of the code. Longer work throws ERR_OUT_OF_RANGE. */
export const createDerivations = (timeLeft: () => number): HostFunctions => {
  const checkTime = (ms: number, what: string) => {
    const left = timeLeft()
    if (ms > left)
      throw outOfRange(what, `small enough to complete in the remaining ${Math.max(0, Math.floor(left))} ms`)
  }

  const pbkdf2 = (password: Wire, salt: Wire, iterations: number, length: number, digest: string) => {
    integerIn('keylen', length, 0, DERIVED)
    const blocks = blocksOf(length, digest)
    integerIn('iterations', iterations, 1, Math.floor(ROUNDS / blocks))
    const [key, data] = [bytesOf(password), bytesOf(salt)]
    const rounds = roundsOf(key.length, data.length, blocks, iterations)
    if (rounds > SAMPLE_ROUNDS) checkTime(rounds * roundMs(digest), 'iterations')
    return textOf(pbkdf2Sync(key, data, iterations, length, digest))
  }

  const scrypt = (
    password: Wire,
    salt: Wire,
    length: number,
    { N = 16_384, r = 8, p = 1 }: ScryptOptions,
  ) => {
    integerIn('keylen', length, 0, DERIVED)
    const mixed = 128 * r * p
    if (!(N * 128 * r <= SCRYPT_BYTES && N * r * p <= SCRYPT_WORK))
      throw outOfRange('N, r and p', 'at most 64 MiB and 2^20 rounds in total')
    const [key, data] = [bytesOf(password), bytesOf(salt)]
    // PBKDF2 with one iteration before and after the mixing, whose result is the second one's salt
    const rounds =
      roundsOf(key.length, data.length, blocksOf(mixed, SCRYPT_DIGEST), 1) +
      roundsOf(key.length, mixed, blocksOf(length, SCRYPT_DIGEST), 1)
    const units = N * r * p
    if (units > SAMPLE_COST * BLOCK || rounds > SAMPLE_ROUNDS)
      checkTime(SCRYPT_MARGIN * units * mixMs() + rounds * roundMs(SCRYPT_DIGEST), 'N, r and p')
    return textOf(scryptSync(key, data, length, { N, r, p, maxmem: 2 * SCRYPT_BYTES }))
  }

  return { 'crypto.pbkdf2': pbkdf2, 'crypto.scrypt': scrypt }
}
