/** URLs and text encodings. */
import * as legacy from 'node:url'
import { bytesOf, textOf } from './bytes.ts'
import type { HostFunctions, Wire } from './types.ts'

const SETTABLE = [
  'href',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const
type Settable = (typeof SETTABLE)[number]

const fields = (url: URL) => ({
  href: url.href,
  origin: url.origin,
  protocol: url.protocol,
  username: url.username,
  password: url.password,
  host: url.host,
  hostname: url.hostname,
  port: url.port,
  pathname: url.pathname,
  search: url.search,
  hash: url.hash,
})

/** Bound for domain names, whose conversion takes quadratic time. */
const MAX_URL = 65_536

const checked = (text: string | undefined): string | undefined => {
  if (text !== undefined && text.length > MAX_URL)
    throw Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' })
  return text
}

interface LegacyUrl {
  readonly href: string | null
}

export const texts: HostFunctions = {
  'url.parse': (input: string, base?: string) => fields(new URL(`${checked(input)}`, checked(base))),
  'url.set': (href: string, name: Settable, value: string) => {
    const url = new URL(href)
    checked(value)
    if (SETTABLE.includes(name)) url[name] = value
    return fields(url)
  },
  'url.toASCII': (domain: string) => legacy.domainToASCII(`${checked(domain)}`),
  'url.toUnicode': (domain: string) => legacy.domainToUnicode(`${checked(domain)}`),
  'url.legacyParse': (text: string, slashes?: boolean): LegacyUrl => ({
    ...legacy.parse(`${checked(text)}`, false, slashes),
  }),
  'url.legacyFormat': (parts: object) => legacy.format(parts),
  'url.legacyResolve': (from: string, to: string) => legacy.resolve(`${checked(from)}`, `${checked(to)}`),
  'url.filePath': (url: string) => legacy.fileURLToPath(url, { windows: false }),
  'url.fromPath': (path: string) => fields(legacy.pathToFileURL(path, { windows: false })),
  'text.bytes': (wire: Wire) => textOf(bytesOf(wire)),
  'text.of': (wire: Wire, encoding: string) => textOf(bytesOf(wire), encoding),
  'text.label': (label: string) => new TextDecoder(label).encoding,
  'text.decode': (data: Wire, label: string, fatal: boolean, ignoreBOM: boolean) =>
    new TextDecoder(label, { fatal, ignoreBOM }).decode(bytesOf(data)),
}
