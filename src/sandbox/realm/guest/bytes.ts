/** Bytes in host calls: a text and its encoding; raw bytes as latin1. */
import { Buffer } from 'node:buffer'
import { fill, latin1 } from './latin1.ts'

export type Wire = readonly [text: string, encoding: string]

export const fromLatin1 = (text: string): Buffer => fill(Buffer.allocUnsafe(text.length), text)

/** Bytes of a view or buffer. Throws Node's error for other values. */
export const viewOf = (value: unknown, name = 'data'): Uint8Array => {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  throw Object.assign(
    new TypeError(
      `The "${name}" argument must be of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView.`,
    ),
    { code: 'ERR_INVALID_ARG_TYPE' },
  )
}

export const toWire = (value: unknown, encoding?: string | null, name?: string): Wire =>
  typeof value === 'string'
    ? [value, encoding && encoding !== 'buffer' ? encoding : 'utf8']
    : [latin1(viewOf(value, name)), 'latin1']

/** Text in the requested encoding, or bytes. */
export const inEncoding = (bytes: Buffer, encoding?: string | null): Buffer | string =>
  encoding && encoding !== 'buffer' ? bytes.toString(encoding as BufferEncoding) : bytes
