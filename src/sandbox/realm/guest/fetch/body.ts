/** Bodies of requests and responses: a text or bytes, read once. */
import { Buffer } from 'node:buffer'
import { callSync } from '../bridge.ts'
import { viewOf } from '../bytes.ts'
import { URLSearchParams } from '../url/search-params.ts'
import { Blob } from './blob.ts'
import { FormData, multipart } from './form-data.ts'

/** A stored body; received bytes stay base64 until they are read. */
export type Stored =
  | { readonly kind: 'text'; readonly text: string; readonly type?: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly type?: string }
  | { readonly kind: 'base64'; readonly base64: string; readonly type?: string }

/** A stored body as constructor argument. */
export class ReceivedBody {
  readonly stored: Stored | undefined

  constructor(stored: Stored | undefined) {
    this.stored = stored
  }
}

export const storedOf = (body: unknown): Stored | undefined => {
  if (body === undefined || body === null) return undefined
  if (body instanceof ReceivedBody) return body.stored
  if (body instanceof URLSearchParams)
    return { kind: 'text', text: body.toString(), type: 'application/x-www-form-urlencoded;charset=UTF-8' }
  if (body instanceof FormData) return { kind: 'bytes', ...multipart(body) }
  if (body instanceof Blob)
    return { kind: 'bytes', bytes: Blob.bytesOf(body), ...(body.type === '' ? {} : { type: body.type }) }
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return { kind: 'bytes', bytes: viewOf(body) }
  return { kind: 'text', text: String(body), type: 'text/plain;charset=UTF-8' }
}

const textOf = (body: Stored | undefined): string => {
  if (body === undefined) return ''
  if (body.kind === 'text') return body.text
  if (body.kind === 'base64') return callSync('text.decode', [body.base64, 'base64'], 'utf-8', false, false)
  return Buffer.from(body.bytes)
    .toString('utf8')
    .replace(/^\ufeff/, '')
}

const bytesOf = (body: Stored | undefined): Buffer => {
  if (body === undefined) return Buffer.alloc(0)
  if (body.kind === 'text') return Buffer.from(body.text, 'utf8')
  return body.kind === 'base64' ? Buffer.from(body.base64, 'base64') : Buffer.from(body.bytes)
}

export class Body {
  #stored: Stored | undefined
  #used = false

  constructor(stored: Stored | undefined) {
    this.#stored = stored
  }

  #read(): Stored | undefined {
    if (this.#used) throw new TypeError('Body is unusable: Body has already been read')
    this.#used = this.#stored !== undefined
    return this.#stored
  }

  get bodyUsed(): boolean {
    return this.#used
  }

  /** The body for sending or cloning, without marking it as used. */
  stored(): Stored | undefined {
    if (this.#used) throw new TypeError('Body is unusable: Body has already been read')
    return this.#stored
  }

  async text(): Promise<string> {
    return textOf(this.#read())
  }

  async json(): Promise<unknown> {
    return JSON.parse(textOf(this.#read()))
  }

  async buffer(): Promise<Buffer> {
    return bytesOf(this.#read())
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(bytesOf(this.#read())).buffer
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(bytesOf(this.#read()))
  }
}
