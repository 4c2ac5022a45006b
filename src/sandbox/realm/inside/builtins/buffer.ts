/** `buffer`, the package of that name, with `base64url`, `atob` and `btoa`. */

type Encoding = BufferEncoding | undefined

const old: typeof import('node:buffer') = require('buffer/index.js')

export const { Buffer, SlowBuffer, INSPECT_MAX_BYTES, kMaxLength } = old as typeof old & {
  readonly SlowBuffer: unknown
}
export const constants = { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 }
export const kStringMaxLength = constants.MAX_STRING_LENGTH

const { apply } = Reflect
const isUrl = (encoding: unknown): boolean =>
  typeof encoding === 'string' && encoding.toLowerCase() === 'base64url'
const known = (encoding: Encoding): Encoding => (isUrl(encoding) ? 'base64' : encoding)

const { from, isEncoding, byteLength } = Buffer
const { toString: toText, write } = Buffer.prototype
const urlSafe = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

Object.assign(Buffer, {
  from: (value: never, encoding?: Encoding, length?: never) =>
    apply(from, Buffer, [value, known(encoding), length]),
  isEncoding: (encoding: string) => isUrl(encoding) || isEncoding(encoding),
  byteLength: (value: never, encoding?: Encoding) =>
    isUrl(encoding) && typeof value === 'string'
      ? Buffer.from(value, 'base64').length
      : byteLength(value, encoding),
})

Object.assign(Buffer.prototype, {
  toString(this: Buffer, encoding?: Encoding, start?: number, end?: number): string {
    if (!isUrl(encoding)) return toText.call(this, encoding, start, end)
    return urlSafe(toText.call(this, 'base64', start, end))
  },
  equals(this: Buffer, other: Uint8Array): boolean {
    return Buffer.compare(this, other) === 0
  },
  write(this: Buffer, text: string, ...rest: never[]): number {
    return write.apply(this, [
      text,
      ...rest.map((each) => (isUrl(each) ? ('base64' as never) : each)),
    ] as never)
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
