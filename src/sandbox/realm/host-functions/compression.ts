import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
  unzipSync,
} from 'node:zlib'
import { bytesOf, textOf } from './bytes.ts'
import type { HostFunctions, Wire } from './types.ts'

const MAX_OUTPUT = 10 * 1024 * 1024
/** Larger inputs do not use Brotli's slowest levels, which take seconds per MiB. */
const SLOW_BROTLI = 256 * 1024
const FAST_QUALITY = 5

const METHODS = { gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, unzipSync }

interface Options {
  readonly level?: number
  readonly memLevel?: number
  readonly strategy?: number
  readonly windowBits?: number
  readonly finishFlush?: number
  readonly maxOutputLength?: number
  readonly params?: Readonly<Record<string, number>>
}

const OPTIONS = ['level', 'memLevel', 'strategy', 'windowBits', 'finishFlush', 'params'] as const

/** Options that affect the output. Options that affect only the work (chunkSize) are ignored. */
const bounded = (options: Options) => ({
  ...Object.fromEntries(
    OPTIONS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  ),
  maxOutputLength: Math.min(options.maxOutputLength ?? MAX_OUTPUT, MAX_OUTPUT),
})

const brotli = (input: Buffer, options: Options): Buffer => {
  const params = { ...options.params }
  const quality = params[constants.BROTLI_PARAM_QUALITY] ?? constants.BROTLI_MAX_QUALITY
  if (input.length > SLOW_BROTLI) params[constants.BROTLI_PARAM_QUALITY] = Math.min(quality, FAST_QUALITY)
  return brotliCompressSync(input, bounded({ ...options, params }))
}

export const compression: HostFunctions = {
  zlib: (method: string, data: Wire, options: Options = {}) => {
    const input = bytesOf(data)
    if (method === 'brotliCompressSync') return textOf(brotli(input, options))
    if (method === 'brotliDecompressSync') return textOf(brotliDecompressSync(input, bounded(options)))
    if (!Object.hasOwn(METHODS, method)) throw new TypeError('There is no such method.')
    return textOf(METHODS[method as keyof typeof METHODS](input, bounded(options)))
  },
}
