/** Digests and signatures: collect their input and call the host once, at their end. */
import type { Buffer } from 'node:buffer'
import { callSync } from '../bridge.ts'
import { fromLatin1, toWire, type Wire } from '../bytes.ts'
import { keyWire, secretWire } from './keys.ts'

const ended = () => Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' })

/** True when the host encodes the result; else it returns bytes. */
const isText = (encoding: unknown): encoding is string =>
  typeof encoding === 'string' && encoding !== 'buffer'

const result = (name: string, args: readonly unknown[], encoding: unknown): Buffer | string =>
  isText(encoding) ? callSync<string>(name, ...args, encoding) : fromLatin1(callSync(name, ...args))

/** Collects the input of `update`. */
class Collector {
  protected chunks: Wire[] | undefined = []

  update(data: unknown, encoding?: string): this {
    if (!this.chunks) throw ended()
    this.chunks.push(toWire(data, encoding))
    return this
  }

  write(data: unknown, encoding?: string): boolean {
    this.update(data, encoding)
    return true
  }

  end(data?: unknown, encoding?: string): this {
    return data === undefined ? this : this.update(data, encoding)
  }

  protected take(): Wire[] {
    const { chunks } = this
    if (!chunks) throw ended()
    this.chunks = undefined
    return chunks
  }
}

export class Hash extends Collector {
  readonly #algorithm: string
  readonly #outputLength: number | null

  constructor(algorithm: string, { outputLength }: { readonly outputLength?: number } = {}) {
    super()
    this.#algorithm = algorithm
    this.#outputLength = outputLength ?? null
    // an unknown algorithm must throw here
    callSync('crypto.hash', algorithm, [], this.#outputLength)
  }

  copy(options: { readonly outputLength?: number } = {}): Hash {
    const { chunks } = this
    if (!chunks) throw ended()
    const copy = new Hash(this.#algorithm, {
      ...(this.#outputLength === null ? {} : { outputLength: this.#outputLength }),
      ...options,
    })
    copy.chunks = [...chunks]
    return copy
  }

  digest(encoding?: string): Buffer | string {
    return result('crypto.hash', [this.#algorithm, this.take(), this.#outputLength], encoding)
  }
}

export class Hmac extends Collector {
  readonly #algorithm: string
  readonly #key: Wire

  constructor(algorithm: string, key: unknown) {
    super()
    this.#algorithm = algorithm
    this.#key = secretWire(key)
    callSync('crypto.hmac', algorithm, this.#key, [])
  }

  digest(encoding?: string): Buffer | string {
    return result('crypto.hmac', [this.#algorithm, this.#key, this.take()], encoding)
  }
}

const signatureOf = (algorithm: string | null, chunks: readonly Wire[], key: unknown, encoding?: unknown) =>
  result('crypto.sign', [algorithm, chunks, keyWire(key)], encoding)

const isSigned = (
  algorithm: string | null,
  chunks: readonly Wire[],
  key: unknown,
  signature: Wire,
): boolean => callSync('crypto.verify', algorithm, chunks, keyWire(key), signature)

export class Sign extends Collector {
  readonly #algorithm: string

  constructor(algorithm: string) {
    super()
    this.#algorithm = algorithm
  }

  sign(key: unknown, encoding?: string): Buffer | string {
    return signatureOf(this.#algorithm, this.take(), key, encoding)
  }
}

export class Verify extends Collector {
  readonly #algorithm: string

  constructor(algorithm: string) {
    super()
    this.#algorithm = algorithm
  }

  verify(key: unknown, signature: unknown, encoding?: string): boolean {
    return isSigned(this.#algorithm, this.take(), key, toWire(signature, encoding, 'signature'))
  }
}

export const createHash = (algorithm: string, options?: { readonly outputLength?: number }): Hash =>
  new Hash(algorithm, options)
export const createHmac = (algorithm: string, key: unknown): Hmac => new Hmac(algorithm, key)
export const createSign = (algorithm: string): Sign => new Sign(algorithm)
export const createVerify = (algorithm: string): Verify => new Verify(algorithm)

type SignCallback = (error: Error | null, signature?: Buffer | string) => void

export const sign = (
  algorithm: string | null | undefined,
  data: unknown,
  key: unknown,
  callback?: SignCallback,
) => {
  const signature = signatureOf(algorithm ?? null, [toWire(data)], key)
  if (!callback) return signature
  return void queueMicrotask(() => callback(null, signature))
}

export const verify = (
  algorithm: string | null | undefined,
  data: unknown,
  key: unknown,
  signature: unknown,
): boolean => isSigned(algorithm ?? null, [toWire(data)], key, toWire(signature))
