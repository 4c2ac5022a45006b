import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

type Coding = 'br' | 'gzip'

/** A file as it is served. */
export interface ConsoleFile {
  readonly type: string
  readonly text: Buffer
  /** Compressed at the first request, in another thread, and once. */
  compressed(coding: Coding): Promise<Buffer>
}

const COMPRESS: Readonly<Record<Coding, (text: Buffer) => Promise<Buffer>>> = {
  br: (text) =>
    promisify(brotliCompress)(text, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      },
    }),
  gzip: (text) => promisify(gzip)(text, { level: constants.Z_BEST_COMPRESSION }),
}

export const consoleFile = (type: string, content: string): ConsoleFile => {
  const text = Buffer.from(content)
  const results: Partial<Record<Coding, Promise<Buffer>>> = {}
  return {
    type,
    text,
    compressed: (coding) => {
      results[coding] ??= COMPRESS[coding](text)
      return results[coding]
    },
  }
}
