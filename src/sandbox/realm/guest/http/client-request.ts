/** Requests of `http.request`: a writable request and a readable response. */
import { Buffer } from 'node:buffer'
import { Readable, Writable } from 'node:stream'
import { AbortController } from '../builtins/event-target.ts'
import { Request } from '../fetch/request.ts'
import { type Result, send } from '../fetch/send.ts'
import { clearTimeout, setTimeout, type Timeout } from '../timers.ts'

const { STATUS_CODES }: Pick<typeof import('node:http'), 'STATUS_CODES'> = require('../tables/http.json')

export interface Target {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string | number | readonly string[]>>
  readonly timeout?: number
}

/** Joins repeated headers like Node: cookies as a list, others with commas. */
const headersOf = (pairs: Result['headers']): Record<string, string | string[]> => {
  const headers: Record<string, string | string[]> = {}
  for (const [header, value] of pairs) {
    const name = header.toLowerCase()
    const known = headers[name]
    if (name === 'set-cookie') headers[name] = [...((known as string[] | undefined) ?? []), value]
    else headers[name] = known === undefined ? value : `${known}, ${value}`
  }
  return headers
}

export class IncomingMessage extends Readable {
  readonly statusCode: number
  readonly statusMessage: string
  readonly headers: Record<string, string | string[]>
  readonly rawHeaders: string[]
  readonly httpVersion = '1.1'
  readonly trailers = {}
  complete = false

  constructor(result: Result) {
    super({ read() {} })
    this.statusCode = result.status
    this.statusMessage = result.statusText || STATUS_CODES[result.status] || ''
    this.headers = headersOf(result.headers)
    this.rawHeaders = result.headers.flat()
    const bytes = Buffer.from(result.base64, 'base64')
    if (bytes.length > 0) this.push(bytes)
    this.push(null)
    this.complete = true
  }

  setTimeout(): this {
    return this
  }
}

const reset = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })

export class ClientRequest extends Writable {
  readonly method: string
  readonly #target: Target
  readonly #headers = new Map<string, { readonly name: string; readonly value: string | readonly string[] }>()
  readonly #chunks: Uint8Array[] = []
  readonly #controller = new AbortController()
  #timer: Timeout | undefined
  aborted = false

  constructor(target: Target) {
    super({ decodeStrings: true, autoDestroy: false })
    this.#target = target
    this.method = target.method
    for (const [name, value] of Object.entries(target.headers)) this.setHeader(name, value)
    if (target.timeout) this.setTimeout(target.timeout)
  }

  setHeader(name: string, value: string | number | readonly string[]): this {
    this.#headers.set(String(name).toLowerCase(), {
      name,
      value: typeof value === 'number' ? `${value}` : value,
    })
    return this
  }

  getHeader(name: string): string | readonly string[] | undefined {
    return this.#headers.get(name.toLowerCase())?.value
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase())
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase())
  }

  getHeaders(): Record<string, string | readonly string[]> {
    return Object.fromEntries([...this.#headers].map(([key, { value }]) => [key, value]))
  }

  setTimeout(milliseconds: number, callback?: () => void): this {
    if (callback) this.once('timeout', callback)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.emit('timeout'), milliseconds)
    return this
  }

  setNoDelay(): this {
    return this
  }

  setSocketKeepAlive(): this {
    return this
  }

  flushHeaders(): void {}

  abort(): void {
    this.aborted = true
    this.destroy()
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
    this.#controller.abort(reset())
    done(error)
  }

  override _final(done: () => void): void {
    this.#send().then(
      (message) => {
        clearTimeout(this.#timer)
        this.emit('response', message)
      },
      (error) => {
        clearTimeout(this.#timer)
        this.emit('error', error)
      },
    )
    done()
  }

  async #send(): Promise<IncomingMessage> {
    const skip = ['host', 'content-length', 'connection', 'transfer-encoding', 'expect']
    const headers = [...this.#headers.values()]
      .filter(({ name }) => !skip.includes(name.toLowerCase()))
      .flatMap(({ name, value }) =>
        typeof value === 'string' ? [[name, value]] : value.map((each) => [name, each]),
      )
    const request = new Request(this.#target.url, {
      method: this.method,
      headers: headers as [string, string][],
      redirect: 'manual',
      signal: this.#controller.signal,
      ...(this.#chunks.length === 0 ? {} : { body: Buffer.concat(this.#chunks) }),
    })
    return new IncomingMessage(await send(request))
  }
}
