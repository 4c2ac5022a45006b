import { AppError } from '../../common/errors.ts'

/** How a body is rewritten (completions §6 "Proxy bodies", §12). `binary` passes untouched. */
type ContentKind = 'json' | 'form' | 'text' | 'binary'

/**
 * How text becomes bytes. `ascii`: some encoding that agrees with ASCII where ASCII is used; values must be ASCII then.
 */
export type Charset = 'utf8' | 'latin1' | 'ascii'

export interface Content {
  readonly kind: ContentKind
  readonly charset: Charset
}

const TEXT_APPLICATIONS: ReadonlySet<string> = new Set([
  'application/xml',
  'application/xml-dtd',
  'application/xml-external-parsed-entity',
  'application/csv',
  'application/graphql',
  'application/ndjson',
  'application/x-ndjson',
  'application/jsonl',
  'application/x-jsonlines',
  'application/json-seq',
  'application/jsonlines',
  'application/javascript',
  'application/x-javascript',
  'application/ecmascript',
  'application/yaml',
  'application/x-yaml',
  'application/toml',
  'application/sql',
  'application/edifact',
  'application/edi-x12',
])

const CHARSETS: Readonly<Record<string, Charset>> = {
  'utf-8': 'utf8',
  utf8: 'utf8',
  'us-ascii': 'utf8',
  ascii: 'utf8',
  'iso-8859-1': 'latin1',
  latin1: 'latin1',
}

const AGREES_WITH_ASCII = /^(iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|euc-(jp|kr)|macintosh)$/

const kindOf = (type: string): ContentKind => {
  if (type === 'application/json' || type === 'text/json' || type.endsWith('+json')) return 'json'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  if (type.startsWith('text/') || type.endsWith('+xml') || type.endsWith('+yaml')) return 'text'
  return TEXT_APPLICATIONS.has(type) ? 'text' : 'binary'
}

/**
 * Reads a Content-Type (RFC 9110 §8.3.1). Types and charsets that are not known to be text are `binary`. Throws
 * `malformed` for several types: the destination might choose the one that we did not.
 */
export const contentOf = (header: string): Content => {
  const type = (header.split(';', 1)[0] ?? '').trim().toLowerCase()
  if (/,\s*[\w.+-]+\/[\w.+-]/.test(header.replace(/"[^"]*"/g, '')))
    throw new AppError('malformed', 'The request has several content types. Send the one that its body has.')
  const kind = kindOf(type)
  if (kind !== 'text') return { kind, charset: 'utf8' }
  const name = /;\s*charset\s*=\s*"?([^\s";,]+)/i.exec(header)?.[1]?.toLowerCase() ?? 'utf-8'
  const charset = Object.hasOwn(CHARSETS, name) ? CHARSETS[name] : undefined
  if (charset !== undefined) return { kind, charset }
  return AGREES_WITH_ASCII.test(name) ? { kind, charset: 'ascii' } : { kind: 'binary', charset: 'ascii' }
}
