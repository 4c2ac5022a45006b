import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { AppError } from './errors.ts'

type Coding = 'gzip' | 'deflate' | 'br'

const CODINGS: Readonly<Record<string, Coding>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
}

const MAX_CODINGS = 2

const decoders = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  raw: promisify(inflateRaw),
}

/** RFC 1950 §2.2: "deflate" has a two-byte header that is a multiple of 31. Some senders omit it. */
const hasZlibHeader = (body: Buffer): boolean =>
  body.length >= 2 && ((body[0] ?? 0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0

/**
 * Codings of a Content-Encoding header in decoding order. Empty: the body is plain. Undefined: a coding is unknown, or
 * there are too many.
 */
export const codingsOf = (header: string | undefined): readonly Coding[] | undefined => {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
  const codings = names.map((name) => (Object.hasOwn(CODINGS, name) ? CODINGS[name] : undefined))
  if (codings.length > MAX_CODINGS || codings.includes(undefined)) return undefined
  return (codings as Coding[]).reverse()
}

/**
 * Removes content codings. Throws `too_large` above `limit` bytes, `malformed` when the body does not match its
 * header.
 */
export const decode = async (body: Buffer, codings: readonly Coding[], limit: number): Promise<Buffer> => {
  let current = body
  for (const coding of codings) {
    const decoder = coding === 'deflate' && !hasZlibHeader(current) ? decoders.raw : decoders[coding]
    try {
      current = await decoder(current, { maxOutputLength: limit })
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
        throw new AppError(
          'too_large',
          `The decompressed body is larger than ${limit} bytes. Send a smaller one.`,
        )
      throw new AppError(
        'malformed',
        `The body is not valid "${coding}", as content-encoding declares. Compress it again or remove the header.`,
      )
    }
  }
  return current
}
