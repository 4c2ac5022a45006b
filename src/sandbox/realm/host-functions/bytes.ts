import type { Wire } from './types.ts'

const ENCODINGS = [
  'utf8',
  'utf-8',
  'latin1',
  'binary',
  'hex',
  'base64',
  'base64url',
  'ascii',
  'utf16le',
  'ucs2',
  'ucs-2',
  'utf-16le',
]

const wrong = (sentence: string, code: string) => Object.assign(new TypeError(sentence), { code })

const encodingOf = (encoding: unknown): BufferEncoding => {
  const name = String(encoding).toLowerCase()
  if (!ENCODINGS.includes(name)) throw wrong(`Unknown encoding: ${name.slice(0, 50)}`, 'ERR_UNKNOWN_ENCODING')
  return name as BufferEncoding
}

/** Throws TypeError for other values. */
export const bytesOf = (wire: Wire): Buffer => {
  if (!Array.isArray(wire) || typeof wire[0] !== 'string')
    throw wrong(
      'The argument must be of type string or an instance of Buffer, TypedArray or DataView.',
      'ERR_INVALID_ARG_TYPE',
    )
  return Buffer.from(wire[0], encodingOf(wire[1]))
}

export const allBytesOf = (wires: readonly Wire[]): Buffer => Buffer.concat(wires.map(bytesOf))

/** Bytes as text in an encoding; `latin1` for raw bytes. */
export const textOf = (bytes: Uint8Array, encoding: unknown = 'latin1'): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encodingOf(encoding))

/** Node's error of that code. */
export const outOfRange = (name: string, rule: string): Error =>
  Object.assign(new RangeError(`The value of "${name}" is out of range. It must be ${rule}.`), {
    code: 'ERR_OUT_OF_RANGE',
  })

/** Checks an integer of a range; returns it. */
export const integerIn = (name: string, value: unknown, min: number, max: number): number => {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw outOfRange(name, `an integer from ${min} to ${max}`)
}
