/** `url`. */
import { callSync } from '../bridge.ts'
import { URLSearchParams } from './search-params.ts'
import { URL } from './url-class.ts'

interface Parts {
  readonly href?: string | null
  readonly query?: unknown
  readonly [name: string]: unknown
}

const {
  parse: parseQuery,
  stringify: stringifyQuery,
}: typeof import('node:querystring') = require('node:querystring')

export class Url {
  href: string | null = null

  format(): string {
    return format(this as unknown as Parts)
  }
}

/** Result of the legacy parser. `withQuery`: parse the query too. */
const parse = (text: string, withQuery = false, slashes = false): Url => {
  const parts = callSync<Parts>('url.legacyParse', text, slashes)
  const query = withQuery ? parseQuery(typeof parts.query === 'string' ? parts.query : '') : parts.query
  return Object.assign(new Url(), parts, { query, search: withQuery ? (parts.search ?? '') : parts.search })
}

interface FormatOptions {
  readonly auth?: boolean
  readonly fragment?: boolean
  readonly search?: boolean
}

const formatUrl = (url: URL, { auth = true, fragment = true, search = true }: FormatOptions): string => {
  const copy = new URL(url.href)
  if (!auth) {
    copy.username = ''
    copy.password = ''
  }
  if (!fragment) copy.hash = ''
  if (!search) copy.search = ''
  return copy.href
}

const format = (url: string | URL | Parts, options: FormatOptions = {}): string => {
  if (typeof url === 'string') return parse(url).format()
  if (url instanceof URL) return formatUrl(url, options)
  const { query, search, ...parts } = url as Parts
  const derived = typeof query === 'object' && query !== null && !search ? stringifyQuery(query as never) : ''
  return callSync('url.legacyFormat', { ...parts, search: derived === '' ? search : `?${derived}` })
}

export const builtin = {
  URL,
  URLSearchParams,
  Url,
  parse,
  format,
  resolve: (from: string, to: string): string => callSync('url.legacyResolve', from, to),
  domainToASCII: (domain: string): string => callSync('url.toASCII', domain),
  domainToUnicode: (domain: string): string => callSync('url.toUnicode', domain),
  fileURLToPath: (url: string | URL): string => callSync('url.filePath', `${url}`),
  pathToFileURL: (path: string): URL =>
    new URL(callSync<{ readonly href: string }>('url.fromPath', path).href),
  urlToHttpOptions: (url: URL) => ({
    protocol: url.protocol,
    hostname: url.hostname,
    hash: url.hash,
    search: url.search,
    pathname: url.pathname,
    path: `${url.pathname}${url.search}`,
    href: url.href,
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    ...(url.username === '' && url.password === ''
      ? {}
      : { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` }),
  }),
}
