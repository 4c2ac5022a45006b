/** `Request` and `Response`. */
import { AbortSignal } from '../builtins/event-target.ts'
import { URL } from '../url/url-class.ts'
import { Blob } from './blob.ts'
import { Body, ReceivedBody, type Stored, storedOf } from './body.ts'
import { Headers } from './headers.ts'

export interface RequestInit {
  readonly method?: string
  readonly headers?: ConstructorParameters<typeof Headers>[0]
  readonly body?: unknown
  readonly redirect?: string
  readonly signal?: AbortSignal | null
}

const NORMAL = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH']

const methodOf = (method: string): string => {
  const upper = method.toUpperCase()
  return NORMAL.includes(upper) ? upper : method
}

const withType = (headers: Headers, stored: Stored | undefined): Headers => {
  if (stored?.type !== undefined && !headers.has('content-type')) headers.set('content-type', stored.type)
  return headers
}

const blobOf = async (message: Request | Response): Promise<Blob> =>
  new Blob([await message.bytes()], { type: message.headers.get('content-type') ?? '' })

export class Request extends Body {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly redirect: string
  readonly signal: AbortSignal

  constructor(input: unknown, init: RequestInit = {}) {
    const from = input instanceof Request ? input : undefined
    const method = methodOf(String(init.method ?? from?.method ?? 'GET'))
    const stored = init.body === undefined || init.body === null ? from?.stored() : storedOf(init.body)
    if (stored !== undefined && (method === 'GET' || method === 'HEAD'))
      throw new TypeError('Request with GET/HEAD method cannot have body.')
    super(stored)
    const url = from?.url ?? `${input}`
    try {
      this.url = new URL(url).href
    } catch (cause) {
      throw Object.assign(new TypeError(`Failed to parse URL from ${url}`), { cause })
    }
    this.method = method
    this.headers = withType(new Headers(init.headers ?? from?.headers), stored)
    this.redirect = init.redirect ?? from?.redirect ?? 'follow'
    this.signal = init.signal ?? from?.signal ?? new AbortSignal()
  }

  blob(): Promise<Blob> {
    return blobOf(this)
  }

  clone(): Request {
    return new Request(this)
  }
}

interface ResponseInit {
  readonly status?: number
  readonly statusText?: string
  readonly headers?: ConstructorParameters<typeof Headers>[0]
}

interface Origin {
  readonly url: string
  readonly redirected: boolean
}

export class Response extends Body {
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly type = 'default'
  #origin: Origin = { url: '', redirected: false }

  constructor(body?: unknown, init: ResponseInit = {}) {
    const stored = storedOf(body)
    super(stored)
    this.status = init.status ?? 200
    if (this.status < 200 || this.status > 599)
      throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.')
    this.statusText = init.statusText ?? ''
    this.headers = withType(new Headers(init.headers), stored)
  }

  /** A response from the network. */
  static received(body: ReceivedBody, init: ResponseInit, origin: Origin): Response {
    const response = new Response(body, init)
    response.#origin = origin
    return response
  }

  static json(value: unknown, init: ResponseInit = {}): Response {
    const headers = new Headers(init.headers)
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    return new Response(JSON.stringify(value), { ...init, headers })
  }

  get url(): string {
    return this.#origin.url
  }

  get redirected(): boolean {
    return this.#origin.redirected
  }

  blob(): Promise<Blob> {
    return blobOf(this)
  }

  clone(): Response {
    return Response.received(new ReceivedBody(this.stored()), this, this.#origin)
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300
  }
}
