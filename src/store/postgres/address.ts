import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'

/** Last valid content of each file; an address names at most three. */
const known = new Map<string, string>()

/**
 * Reads the PEM file for each connection, since certificates are renewed. A missing or incomplete file keeps its last
 * valid content. Throws when there was none.
 */
const pemOf = (path: string): string => {
  try {
    const text = readFileSync(path, 'utf8')
    if (text.includes('-----END ') || !known.has(path)) known.set(path, text)
  } catch (thrown) {
    if (!known.has(path)) throw thrown
  }
  return known.get(path) as string
}

/** Options of `pg` by the address parameter that names their file. */
const FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const

/**
 * Parses an address for `pg`. Files are read here for each connection: when one is missing, `pg` would throw where no
 * handler listens. Throws when a file cannot be read at first.
 */
export const connectionOf = (address: string): Pick<ClientConfig, 'connectionString' | 'ssl'> => {
  const files = Object.entries(FILES).flatMap(([parameter, member]) => {
    const path = new URL(address).searchParams.get(parameter)
    return path === null ? [] : [{ parameter, member, path }]
  })
  if (files.length === 0) return { connectionString: address }
  const url = new URL(address)
  const mode = url.searchParams.get('sslmode')
  for (const { parameter } of files) url.searchParams.delete(parameter)
  if (mode === 'disable') return { connectionString: url.href }
  url.searchParams.delete('sslmode')
  const ssl: NonNullable<ClientConfig['ssl']> = mode === 'no-verify' ? { rejectUnauthorized: false } : {}
  for (const { member, path } of files) {
    pemOf(path)
    Object.defineProperty(ssl, member, { enumerable: true, configurable: true, get: () => pemOf(path) })
  }
  return { connectionString: url.href, ssl }
}
