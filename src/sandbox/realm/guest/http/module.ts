/** `http` and `https`: clients only. */
import { Buffer } from 'node:buffer'
import { URL } from '../url/url-class.ts'
import { ClientRequest, IncomingMessage, type Target } from './client-request.ts'

const tables: Pick<typeof import('node:http'), 'METHODS' | 'STATUS_CODES'> = require('../tables/http.json')

interface Options {
  readonly protocol?: string | null
  readonly host?: string | null
  readonly hostname?: string | null
  readonly port?: number | string | null
  readonly path?: string | null
  readonly method?: string
  readonly headers?: Target['headers']
  readonly auth?: string | null
  readonly timeout?: number
}

type Callback = (message: IncomingMessage) => void

class Agent {
  readonly options: object
  readonly maxSockets = Number.POSITIVE_INFINITY

  constructor(options: object = {}) {
    this.options = options
  }

  destroy(): void {}
}

const basic = (auth: string | null | undefined, headers: Target['headers']): Target['headers'] => {
  const named = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  return auth && !named
    ? { ...headers, Authorization: `Basic ${Buffer.from(auth).toString('base64')}` }
    : headers
}

const targetOf = (scheme: string, url: URL | undefined, options: Options): Target => {
  const { method = 'GET', headers = {}, timeout } = options
  const base =
    url ?? new URL(`${options.protocol ?? scheme}//${options.hostname ?? options.host ?? 'localhost'}`)
  if (url === undefined && options.port) base.port = `${options.port}`
  const path = options.path ?? (url === undefined ? '/' : `${url.pathname}${url.search}`)
  const auth =
    options.auth ?? (base.username === '' ? null : decodeURIComponent(`${base.username}:${base.password}`))
  return {
    url: `${base.protocol}//${base.host}${path}`,
    method: method.toUpperCase(),
    headers: basic(auth, headers),
    ...(timeout === undefined ? {} : { timeout }),
  }
}

const isOptions = (value: unknown): value is Options => typeof value === 'object' && value !== null

/** The module for a scheme, `https:` or `http:`. */
export const createModule = (scheme: string) => {
  const request = (...args: readonly (string | URL | Options | Callback | undefined)[]): ClientRequest => {
    const [first, ...rest] = args
    const url = typeof first === 'string' || first instanceof URL ? new URL(first) : undefined
    const options = [...(url === undefined ? [first] : []), ...rest].find(isOptions) ?? {}
    const clientRequest = new ClientRequest(targetOf(scheme, url, options))
    const callback = rest.find((each) => typeof each === 'function')
    if (callback) clientRequest.once('response', callback as Callback)
    return clientRequest
  }

  const get: typeof request = (...args) => {
    const clientRequest = request(...args)
    clientRequest.end()
    return clientRequest
  }

  const createServer = () => {
    throw new Error('Code that runs here cannot listen.')
  }

  return {
    request,
    get,
    createServer,
    Agent,
    globalAgent: new Agent(),
    ClientRequest,
    IncomingMessage,
    ...tables,
  }
}
