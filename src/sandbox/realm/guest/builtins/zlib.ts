/** `zlib`: synchronous, by callback, or as streams that output everything at their end. */

import { Buffer } from 'node:buffer'
import type { Transform } from 'node:stream'
import { callSync } from '../bridge.ts'
import { fromLatin1, toWire } from '../bytes.ts'
import { setImmediate } from '../timers.ts'

const constants: typeof import('node:zlib').constants = require('../tables/zlib.json')

type Options = Readonly<Record<string, unknown>>
type Callback = (error: Error | null, result?: Buffer) => void

const sync =
  (method: string) =>
  (data: unknown, options: Options = {}): Buffer =>
    fromLatin1(callSync('zlib', method, toWire(data, undefined, 'buffer'), options))

const methods = {
  gzip: sync('gzipSync'),
  gunzip: sync('gunzipSync'),
  deflate: sync('deflateSync'),
  inflate: sync('inflateSync'),
  deflateRaw: sync('deflateRawSync'),
  inflateRaw: sync('inflateRawSync'),
  unzip: sync('unzipSync'),
  brotliCompress: sync('brotliCompressSync'),
  brotliDecompress: sync('brotliDecompressSync'),
}

const later =
  (run: (data: unknown, options?: Options) => Buffer) =>
  (data: unknown, ...rest: readonly (Options | Callback)[]): void => {
    const callback = rest.at(-1) as Callback
    const options = rest.length > 1 ? (rest[0] as Options) : {}
    setImmediate(() => {
      let result: Buffer
      try {
        result = run(data, options)
      } catch (error) {
        return callback(error as Error)
      }
      callback(null, result)
    })
  }

const streaming =
  (run: (data: unknown, options?: Options) => Buffer) =>
  (options: Options = {}): Transform => {
    const { Transform: Base }: typeof import('node:stream') = require('node:stream')
    const chunks: Uint8Array[] = []
    return new Base({
      transform: (chunk, encoding, done) => {
        chunks.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
        done()
      },
      flush: (done) => {
        try {
          done(null, run(Buffer.concat(chunks), options))
        } catch (error) {
          done(error as Error)
        }
      },
    })
  }

const named = (make: (name: string) => string, value: (run: (typeof methods)['gzip']) => unknown) =>
  Object.fromEntries(Object.entries(methods).map(([name, run]) => [make(name), value(run)]))

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

export const builtin = {
  ...named(
    (name) => `${name}Sync`,
    (run) => run,
  ),
  ...named((name) => name, later),
  ...named((name) => `create${capital(name)}`, streaming),
  constants,
  ...constants,
}
