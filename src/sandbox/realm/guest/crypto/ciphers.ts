/** Ciphers; the host holds their state. */
import type { Buffer } from 'node:buffer'
import { callSync } from '../bridge.ts'
import { fromLatin1, inEncoding, toWire } from '../bytes.ts'
import { secretWire } from './keys.ts'

type Decoder = import('node:string_decoder').StringDecoder

interface Options {
  readonly authTagLength?: number
}

class Cipher {
  readonly #id: number
  #tag: string | null = null
  #decoder: Decoder | undefined

  constructor(
    decrypt: boolean,
    algorithm: string,
    key: unknown,
    iv: unknown,
    { authTagLength }: Options = {},
  ) {
    this.#id = callSync('crypto.cipher', {
      decrypt,
      algorithm,
      key: secretWire(key),
      iv: iv === null || iv === undefined ? null : toWire(iv, undefined, 'iv'),
      ...(authTagLength === undefined ? {} : { authTagLength }),
    })
  }

  /** A decoder carries incomplete characters of base64 and UTF-8 to the next piece. */
  #out(bytes: Buffer, encoding: string | undefined, last: boolean): Buffer | string {
    if (!encoding || encoding === 'buffer') return bytes
    if (encoding === 'hex' || encoding === 'latin1' || encoding === 'binary')
      return inEncoding(bytes, encoding)
    const { StringDecoder }: typeof import('node:string_decoder') = require('node:string_decoder')
    this.#decoder ??= new StringDecoder(encoding as BufferEncoding)
    return last ? this.#decoder.write(bytes) + this.#decoder.end() : this.#decoder.write(bytes)
  }

  update(data: unknown, inputEncoding?: string, outputEncoding?: string): Buffer | string {
    const bytes = fromLatin1(callSync('crypto.cipher.update', this.#id, toWire(data, inputEncoding)))
    return this.#out(bytes, outputEncoding, false)
  }

  final(outputEncoding?: string): Buffer | string {
    const { text, tag } = callSync<{ text: string; tag: string | null }>('crypto.cipher.final', this.#id)
    this.#tag = tag
    return this.#out(fromLatin1(text), outputEncoding, true)
  }

  setAAD(data: unknown, { plaintextLength }: { readonly plaintextLength?: number } = {}): this {
    callSync(
      'crypto.cipher.setAAD',
      this.#id,
      toWire(data),
      ...(plaintextLength === undefined ? [] : [plaintextLength]),
    )
    return this
  }

  setAutoPadding(on = true): this {
    callSync('crypto.cipher.setAutoPadding', this.#id, on)
    return this
  }

  getAuthTag(): Buffer {
    if (this.#tag === null)
      throw Object.assign(new Error('Invalid state for operation getAuthTag'), {
        code: 'ERR_CRYPTO_INVALID_STATE',
      })
    return fromLatin1(this.#tag)
  }

  setAuthTag(tag: unknown, encoding?: string): this {
    callSync('crypto.cipher.setAuthTag', this.#id, toWire(tag, encoding))
    return this
  }
}

export const createCipheriv = (algorithm: string, key: unknown, iv: unknown, options?: Options): Cipher =>
  new Cipher(false, algorithm, key, iv, options)

export const createDecipheriv = (algorithm: string, key: unknown, iv: unknown, options?: Options): Cipher =>
  new Cipher(true, algorithm, key, iv, options)

export const getCipherInfo = (name: string | number): object | undefined =>
  callSync('crypto.cipherInfo', name) ?? undefined
