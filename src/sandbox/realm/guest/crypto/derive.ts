/** Random bytes, and keys derived from passwords. */
import type { Buffer } from 'node:buffer'
import { callSync } from '../bridge.ts'
import { fromLatin1, toWire, viewOf } from '../bytes.ts'
import { setImmediate } from '../timers.ts'
import { secretWire } from './keys.ts'

type Callback<T> = (error: Error | null, result?: T) => void

/** The function with a callback as last argument. */
export const withCallback =
  <Args extends readonly unknown[], T>(run: (...args: Args) => T) =>
  (...args: readonly [...Args, Callback<T>] | readonly unknown[]): void => {
    const callback = args.at(-1) as Callback<T>
    if (typeof callback !== 'function')
      throw Object.assign(new TypeError('The "callback" argument must be of type function.'), {
        code: 'ERR_INVALID_ARG_TYPE',
      })
    setImmediate(() => {
      let result: T
      try {
        result = run(...(args.slice(0, -1) as unknown as Args))
      } catch (error) {
        return callback(error as Error)
      }
      callback(null, result)
    })
  }

const bytes = (size: number): Buffer => fromLatin1(callSync('crypto.random', size))

export const randomBytes = (size: number, callback?: Callback<Buffer>): Buffer | undefined => {
  if (!callback) return bytes(size)
  withCallback(bytes)(size, callback)
  return undefined
}

const RANDOM = 65_536

/** Fills a part of a view, in several host calls if it is large. */
export const randomFillSync = <T extends ArrayBufferView | ArrayBuffer>(
  target: T,
  offset = 0,
  size?: number,
): T => {
  const view = viewOf(target, 'buf')
  const end = size === undefined ? view.length : offset + size
  for (let at = offset; at < end; at += RANDOM) view.set(bytes(Math.min(RANDOM, end - at)), at)
  return target
}

const between = (least: number, beyond?: number): number =>
  beyond === undefined ? callSync('crypto.randomInt', 0, least) : callSync('crypto.randomInt', least, beyond)

export const randomInt = (
  least: number,
  ...rest: readonly (number | Callback<number>)[]
): number | undefined => {
  const callback = rest.at(-1)
  const beyond = typeof rest[0] === 'number' ? rest[0] : undefined
  if (typeof callback !== 'function') return between(least, beyond)
  withCallback(between)(least, beyond, callback)
  return undefined
}

export const randomUUID = (): string => callSync('crypto.randomUUID')

export const pbkdf2Sync = (
  password: unknown,
  salt: unknown,
  rounds: number,
  length: number,
  digest: string,
): Buffer => fromLatin1(callSync('crypto.pbkdf2', toWire(password), toWire(salt), rounds, length, digest))

interface ScryptOptions {
  readonly N?: number
  readonly r?: number
  readonly p?: number
  readonly cost?: number
  readonly blockSize?: number
  readonly parallelization?: number
}

export const scryptSync = (
  password: unknown,
  salt: unknown,
  length: number,
  options: ScryptOptions = {},
): Buffer => {
  const { cost, blockSize, parallelization, N = cost, r = blockSize, p = parallelization } = options
  return fromLatin1(callSync('crypto.scrypt', toWire(password), toWire(salt), length, { N, r, p }))
}

export const hkdfSync = (
  digest: string,
  key: unknown,
  salt: unknown,
  info: unknown,
  length: number,
): ArrayBuffer => {
  const derived = fromLatin1(
    callSync('crypto.hkdf', digest, secretWire(key), toWire(salt), toWire(info), length),
  )
  return new Uint8Array(derived).buffer
}

const different = () =>
  Object.assign(new RangeError('Input buffers must have the same byte length'), {
    code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH',
  })

export const timingSafeEqual = (first: unknown, second: unknown): boolean => {
  const a = viewOf(first, 'buf1')
  const b = viewOf(second, 'buf2')
  if (a.length !== b.length) throw different()
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!
  return difference === 0
}
