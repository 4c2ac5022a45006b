/** `querystring`. */

type Value = string | number | boolean | bigint
type Query = Readonly<Record<string, Value | readonly Value[] | null | undefined>>

interface ParseOptions {
  /** Limit of pairs; 0: none. */
  readonly maxKeys?: number
  readonly decodeURIComponent?: (text: string) => string
}

const primitive = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : ''
  return typeof value === 'boolean' || typeof value === 'bigint' ? `${value}` : ''
}

const escaped = (text: unknown): string =>
  encodeURIComponent(typeof text === 'object' ? String(text) : `${text}`)

/** Invalid percent sequences stay unchanged. */
const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    const { Buffer }: typeof import('node:buffer') = require('node:buffer')
    const bytes = text.replace(/%([0-9a-f]{2})|[^%]+|%/gi, (part, hex?: string) =>
      hex === undefined
        ? Buffer.from(part).toString('latin1')
        : String.fromCharCode(Number.parseInt(hex, 16)),
    )
    return Buffer.from(bytes, 'latin1').toString()
  }
}

const stringify = (
  query: Query | null | undefined,
  separator = '&',
  equals = '=',
  options?: { readonly encodeURIComponent?: (text: string) => string } | null,
): string => {
  if (typeof query !== 'object' || query === null) return ''
  const encode = options?.encodeURIComponent ?? escaped
  const pair = (name: string, value: unknown) => `${encode(name)}${equals || '='}${encode(primitive(value))}`
  return Object.entries(query)
    .flatMap(([name, value]) =>
      Array.isArray(value) ? value.map((each) => pair(name, each)) : [pair(name, value)],
    )
    .join(separator || '&')
}

const parse = (
  text: string,
  separator?: string | null,
  equals?: string | null,
  { maxKeys = 1000, decodeURIComponent: decode = unescaped }: ParseOptions = {},
): Record<string, string | string[]> => {
  const query: Record<string, string | string[]> = Object.create(null)
  if (typeof text !== 'string' || text === '') return query
  const parts = text.split(separator || '&').filter((part) => part !== '')
  for (const part of maxKeys > 0 ? parts.slice(0, maxKeys) : parts) {
    const at = part.indexOf(equals || '=')
    const read = (piece: string) => {
      const spaced = piece.replaceAll('+', ' ')
      try {
        return decode(spaced)
      } catch {
        return unescaped(spaced)
      }
    }
    const name = read(at < 0 ? part : part.slice(0, at))
    const value = at < 0 ? '' : read(part.slice(at + (equals || '=').length))
    const known = query[name]
    if (known === undefined) query[name] = value
    else if (typeof known === 'string') query[name] = [known, value]
    else known.push(value)
  }
  return query
}

export const builtin = {
  stringify,
  parse,
  encode: stringify,
  decode: parse,
  escape: escaped,
  unescape: unescaped,
}
