import { accessSync, constants, statSync } from 'node:fs'
import ipaddr from 'ipaddr.js'
import { parseCidr } from '../common/cidr.ts'

/** Error of one setting. The message never contains a secret. */
export class SettingError extends Error {
  readonly fix: string

  constructor(problem: string, fix: string) {
    super(problem)
    this.fix = fix
  }
}

const port = (text: string): number | undefined => {
  if (!/^\d{1,5}$/.test(text)) return undefined
  const value = Number(text)
  return value <= 65_535 ? value : undefined
}

/** An IP address and a port to listen on; port 0: a free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`; port 0 picks a free one. */
export const parseListen = (text: string): ListenAddress => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d+)$/.exec(text)
  const host = match?.[2] === 'localhost' ? '127.0.0.1' : (match?.[1] ?? match?.[2])
  const number = port(match?.[3] ?? '')
  if (host === undefined || number === undefined || !ipaddr.isValid(host))
    throw new SettingError(
      `"${text}" is not an address and a port.`,
      'Write e.g. 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080.',
    )
  return { host, port: number }
}

export const isLoopback = (host: string): boolean => ipaddr.process(host).range() === 'loopback'

/** A CIDR block in canonical form; a bare address is a block of one. */
export const parseBlock = (text: string): string => {
  try {
    const { address, prefixLength } = parseCidr(text)
    return `${address}/${prefixLength}`
  } catch {
    throw new SettingError(`"${text}" is not a CIDR block.`, 'Write blocks such as 10.1.0.0/16 or fd00::/8.')
  }
}

export const parsePorts = (items: readonly string[]): readonly number[] | '*' => {
  if (items.length === 1 && items[0] === '*') return '*'
  const wrong = items.filter((item) => !port(item))
  if (wrong.length > 0)
    throw new SettingError(
      wrong.map((item) => `"${item}" is not a port.`).join(' '),
      'Write ports such as 443,8443, or * alone for all.',
    )
  return items.map(Number)
}

/** `10.0.0.2`, `10.0.0.2:53` or `[fd00::2]:53`. */
export const parseResolver = (text: string): { readonly address: string; readonly port: number } => {
  const bare = ipaddr.isValid(text)
  const match = /^\[?([^[\]]+?)\]?:(\d+)$/.exec(text)
  const address = bare ? text : match?.[1]
  const number = bare ? 53 : port(match?.[2] ?? '')
  if (address === undefined || number === undefined || number === 0 || !ipaddr.isValid(address))
    throw new SettingError(`"${text}" is not a name server.`, 'Write e.g. 10.0.0.2 or 10.0.0.2:53.')
  return { address, port: number }
}

/** Checks the URL of a Redis. The error does not quote it, since it may contain a password. */
export const parseRedisUrl = (text: string): string => {
  try {
    const { protocol, hostname, username, password, pathname } = new URL(text)
    decodeURIComponent(username + password)
    if (!/^rediss?:$/.test(protocol) || hostname === '' || !/^(\/\d*)?$/.test(pathname))
      throw new Error('another kind of URL')
    return text
  } catch {
    throw new SettingError(
      'the value is not a Redis URL.',
      'Write redis://[[user]:password@]host[:port][/database], or rediss:// for TLS. Percent-encode special characters in the password.',
    )
  }
}

export const parsePrefix = (text: string): string => {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$/.test(text))
    throw new SettingError(
      `"${text}" cannot be a header prefix.`,
      'Use 1 to 32 letters, digits and inner dashes, e.g. SVC.',
    )
  return text.toUpperCase()
}

/** Checks that this process can read a file; returns its path. */
export const readable = (path: string): string => {
  try {
    if (!statSync(path).isFile()) throw new Error('not a file')
    accessSync(path, constants.R_OK)
    return path
  } catch {
    throw new SettingError(`the file "${path}" cannot be read.`, 'Name a PEM file that this user can read.')
  }
}

/** Unambiguous modes of https://www.postgresql.org/docs/current/libpq-ssl.html; `no-verify` checks no certificate. */
const SSL_MODES: readonly (string | null)[] = ['disable', 'no-verify', 'verify-full', null]

const STORE_FORM =
  'Write postgres://user:password@host:5432/database, or leave it unset: SQLite in the data directory.'

/** Parameters of a URL that name files (libpq). */
const PEM_FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const

/** Checks a URL of PostgreSQL; `pem` resolves the files in it. Beyond loopback the default is `sslmode=verify-full`. */
export const parsePostgres = (text: string, pem = readable): string => {
  // The host may be the percent-encoded directory of a unix socket.
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.hostname === '' || url.pathname.length < 2)
    throw new SettingError('the value is not the URL of a database.', STORE_FORM)
  const mode = url.searchParams.get('sslmode')
  if (!SSL_MODES.includes(mode))
    throw new SettingError(
      'the sslmode does not state whether the server certificate is checked.',
      'Use sslmode=verify-full (with sslrootcert=<file> for an authority of your own), no-verify or disable.',
    )
  const host = decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '')
  const local = host.startsWith('/') || host === 'localhost' || (ipaddr.isValid(host) && isLoopback(host))
  if (mode === null && !local) url.searchParams.set('sslmode', 'verify-full')
  for (const name of PEM_FILES) {
    const path = url.searchParams.get(name)
    if (path !== null) url.searchParams.set(name, pem(path))
  }
  return url.href
}
