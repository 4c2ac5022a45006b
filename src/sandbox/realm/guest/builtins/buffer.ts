/** `buffer`: the npm package with `base64url`, `atob` and `btoa`. The host converts long texts. */
import { callSync } from '../bridge.ts'
import { fill, latin1 } from '../latin1.ts'

const old: typeof import('node:buffer') = require('buffer/index.js')

export const { Buffer, SlowBuffer, INSPECT_MAX_BYTES, kMaxLength } = old as typeof old & {
  readonly SlowBuffer: unknown
}
export const constants = { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 }
export const kStringMaxLength = constants.MAX_STRING_LENGTH

const { apply } = Reflect
const { from, isEncoding, byteLength } = Buffer
const { toString: toText, write } = Buffer.prototype

/** Length from which the host is faster, including the crossing. */
const LONG = 1_024

const nameOf = (encoding: unknown): string =>
  encoding === undefined || encoding === null ? 'utf8' : String(encoding).toLowerCase()

const isUrl = (encoding: unknown): boolean => typeof encoding === 'string' && nameOf(encoding) === 'base64url'
const known = (encoding: unknown): unknown => (isUrl(encoding) ? 'base64' : encoding)
const urlSafe = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const isKnown = (encoding: string): boolean => isUrl(encoding) || isEncoding(encoding)

const fromText = (text: string, encoding: unknown): Buffer => {
  const name = nameOf(encoding)
  if (text.length < LONG || !isKnown(name)) return apply(from, Buffer, [text, known(encoding)])
  const bytes = callSync<string>('text.bytes', [text, name])
  return fill(Buffer.allocUnsafe(bytes.length), bytes)
}

/** The host also decodes malformed UTF-8: it places replacement characters by the standard. */
const textOf = (bytes: Buffer, encoding: unknown): string => {
  const name = nameOf(encoding)
  const byHost = () => callSync<string>('text.of', [latin1(bytes), 'latin1'], name)
  if (bytes.length >= LONG && isKnown(name)) return byHost()
  const text: string = apply(toText, bytes, [known(encoding)])
  if (isUrl(encoding)) return urlSafe(text)
  return text.includes('\ufffd') && name.startsWith('utf') ? byHost() : text
}

Object.assign(Buffer, {
  from: (value: unknown, encoding?: unknown, length?: unknown) =>
    typeof value === 'string' ? fromText(value, encoding) : apply(from, Buffer, [value, encoding, length]),
  isEncoding: isKnown,
  byteLength: (value: unknown, encoding?: unknown) =>
    isUrl(encoding) && typeof value === 'string'
      ? Buffer.from(value, 'base64').length
      : apply(byteLength, Buffer, [value, encoding]),
})

Object.assign(Buffer.prototype, {
  toString(this: Buffer, encoding?: unknown, start?: number, end?: number): string {
    return textOf(start === undefined && end === undefined ? this : this.subarray(start, end), encoding)
  },
  equals(this: Buffer, other: Uint8Array): boolean {
    return Buffer.compare(this, other) === 0
  },
  write(this: Buffer, text: string, ...rest: unknown[]): number {
    return apply(write, this, [text, ...rest.map(known)] as never)
  },
})

const invalidCharacter = () =>
  Object.assign(new Error('Invalid character'), { name: 'InvalidCharacterError', code: 5 })

/** Bytes of base64, one character each. Throws an InvalidCharacterError. */
export const atob = (input: unknown): string => {
  const text = String(input).replace(/[\t\n\f\r ]/g, '')
  const bare = text.length % 4 === 0 ? text.replace(/==?$/, '') : text
  if (bare.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(bare)) throw invalidCharacter()
  return Buffer.from(bare, 'base64').toString('latin1')
}

export const btoa = (input: unknown): string => {
  const text = String(input)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all characters of one byte are allowed
  if (/[^\x00-\xff]/.test(text)) throw invalidCharacter()
  return Buffer.from(text, 'latin1').toString('base64')
}

declare const exports: object

// lazy: the fetch module needs this one
Object.defineProperty(exports, 'Blob', {
  enumerable: true,
  configurable: true,
  get: () => (require('#fetch') as typeof import('../fetch/fetch.ts').builtin).Blob,
})
