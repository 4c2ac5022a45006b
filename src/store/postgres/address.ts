import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'

/** What they held when they were last found good; an address names three of them at most. */
const known = new Map<string, string>()

/**
 * The PEM file as it is now, since certificates are renewed; one that is gone or half written counts as it was. Throws
 * when it never held anything.
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

/** Members of `pg`'s own, by the parameter of an address that names their file. */
const FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const

/**
 * Where an address leads, for `pg`. What it says of files is read for each connection: by itself, `pg` throws where nobody
 * listens when one of them is gone. Throws when a file cannot be read at first.
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
