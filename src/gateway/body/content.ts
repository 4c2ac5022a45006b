import { AppError } from '../../common/errors.ts'

/**
 * How a body is read (README.md). `binary` passes untouched; of `unread` only that it holds no expression is checked.
 */
export type ContentKind =
  | 'json'
  | 'ndjson'
  | 'json-seq'
  | 'form'
  | 'xml'
  | 'csv'
  | 'multipart'
  | 'text'
  | 'unread'
  | 'binary'

/**
 * How text becomes bytes. `ascii`: some encoding that agrees with ASCII where ASCII is used; values must be ASCII then.
 * `other`: it is not known, or does not agree with ASCII.
 */
export type Charset = 'utf8' | 'latin1' | 'ascii' | 'other'

interface Content {
  readonly kind: ContentKind
  readonly charset: Charset
}

const KINDS: Readonly<Record<string, ContentKind>> = {
  'application/json': 'json',
  'text/json': 'json',
  'application/ndjson': 'ndjson',
  'application/x-ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/x-jsonlines': 'ndjson',
  'application/jsonlines': 'ndjson',
  'text/x-ndjson': 'ndjson',
  'application/x-amz-json-1.0': 'json',
  'application/x-amz-json-1.1': 'json',
  'application/csp-report': 'json',
  'application/json-seq': 'json-seq',
  'application/x-www-form-urlencoded': 'form',
  'application/xml': 'xml',
  'application/xml-dtd': 'xml',
  'application/xml-external-parsed-entity': 'xml',
  'text/xml': 'xml',
  'text/xml-external-parsed-entity': 'xml',
  'text/csv': 'csv',
  'application/csv': 'csv',
  'multipart/form-data': 'multipart',
  'application/graphql': 'text',
  'application/javascript': 'text',
  'application/x-javascript': 'text',
  'application/ecmascript': 'text',
  'application/yaml': 'text',
  'application/x-yaml': 'text',
  'application/toml': 'text',
  'application/sql': 'text',
  'application/edifact': 'text',
  'application/edi-x12': 'text',
}

const CHARSETS: Readonly<Record<string, Charset>> = {
  'utf-8': 'utf8',
  utf8: 'utf8',
  'us-ascii': 'utf8',
  ascii: 'utf8',
  'iso-8859-1': 'latin1',
  latin1: 'latin1',
}

const AGREES_WITH_ASCII = /^(iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|euc-(jp|kr)|macintosh)$/

/** RFC 9110 §5.6.2: a type and a subtype, both tokens. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+$/

const kindOf = (type: string): ContentKind => {
  if (!MEDIA_TYPE.test(type)) return 'unread'
  if (Object.hasOwn(KINDS, type)) return KINDS[type] ?? 'binary'
  if (type.endsWith('+json')) return 'json'
  if (type.endsWith('+json-seq')) return 'json-seq'
  if (type.endsWith('+xml')) return 'xml'
  if (type.startsWith('multipart/')) return 'unread'
  return type.startsWith('text/') || type.endsWith('+yaml') ? 'text' : 'binary'
}

/** The value of a parameter of a Content-Type or Content-Disposition (RFC 9110 §5.6.6), without quotes. */
export const parameterOf = (header: string, name: string): string | undefined => {
  const parameters = header.matchAll(/;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";,]*))/g)
  for (const [, parameter, quoted, token] of parameters)
    if (parameter?.toLowerCase() === name) return quoted?.replace(/\\(.)/g, '$1') ?? token
  return undefined
}

const charsetOf = (header: string): Charset => {
  const name = parameterOf(header, 'charset')?.toLowerCase() ?? 'utf-8'
  if (Object.hasOwn(CHARSETS, name)) return CHARSETS[name] ?? 'other'
  return AGREES_WITH_ASCII.test(name) ? 'ascii' : 'other'
}

const RETAINED = 100
const MAX_LENGTH = 200
const known = new Map<string, Content>()

/**
 * Reads a Content-Type (RFC 9110 §8.3.1). Types that are not known are `binary`, texts that are no type `unread`.
 * Throws `malformed` for a comma outside quotes: of several types, the destination might choose another than we do.
 */
export const contentOf = (header: string): Content => {
  const ready = known.get(header)
  if (ready !== undefined) return ready
  const content = read(header)
  // Callers choose the texts, so that they must not fill the memory.
  if (known.size >= RETAINED) known.clear()
  if (header.length <= MAX_LENGTH) known.set(header, content)
  return content
}

const read = (header: string): Content => {
  const type = (header.split(';', 1)[0] ?? '').trim().toLowerCase()
  if (header.replace(/"(?:[^"\\]|\\.)*"/g, '').includes(','))
    throw new AppError(
      'malformed',
      'The request has several content types, or a comma in one. Send the one that its body has.',
    )
  return { kind: kindOf(type), charset: charsetOf(header) }
}
