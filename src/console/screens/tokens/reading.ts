import { FIELDS } from './language.ts'
import { quotePhrase } from './query.ts'

/** A search as people type it, as a query of the search language. */
export interface Reading {
  readonly query: string
  /** The query in words; absent: the search was typed in the language. */
  readonly words?: string
  /** Texts without a field: each may be an id, data, or an entry of metadata. */
  readonly texts: readonly string[]
  /** A search that finds more; absent: there is none. */
  readonly wider?: string
}

/** What the vault has that such a text may mean. */
interface Known {
  /** Keys of metadata. */
  readonly keys: readonly string[]
  /** Texts that are ids of tokens. */
  readonly ids: readonly string[]
}

const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`
const VALUE = String.raw`${QUOTED}|[[{](?:${QUOTED}|[^"\]}])*[\]}]|(?:[^\s()"\\]|\\.)*`
/** The colon of a URL makes no field. */
const FIELD = String.raw`[A-Za-z_][\w.-]*(?=:(?!//))`
const WORD = String.raw`(?<![^\s()])(?:${QUOTED}|(?!(?:AND|OR|NOT)(?![\w.:-])|[!-]?${FIELD})[^\s()]+)`
const WORDS = String.raw`${WORD}(?:\s+${WORD})*`
/** A term as src/vault/search/parser.ts has it and words behind it, or words. */
const PART = new RegExp(String.raw`(${FIELD}):(${VALUE})(?:\s+(${WORDS}))?|(${WORDS})`, 'gs')
const HAS_FIELD = new RegExp(String.raw`(?<![^\s()!-]|[^\s()][!-])${FIELD}`)

const NAMES: ReadonlySet<string> = new Set(FIELDS.map(([field]) => field))
const isOfLanguage = (field: string): boolean => NAMES.has(field) || field.startsWith('metadata.')

const isQuoted = (value: string): boolean => /^["[{]/.test(value)

const quoteIfNeeded = (text: string): string =>
  /^[\p{L}\p{N}_.@+/-]+$/u.test(text) ? text : quotePhrase(text)

/** Without the `*` at its end. */
const startOf = (text: string): string => text.replace(/\*$/, '')

/** An entry that equals the text; with `*` at its end: that begins with it, as a range; without text: any. */
const entryTerm = (key: string, text: string): string => {
  const start = startOf(text)
  if (start === '') return `metadata.${key}:[* TO *]`
  if (start === text) return `metadata.${key}:${quoteIfNeeded(text)}`
  const points = Array.from(start, (character) => character.codePointAt(0) ?? 0)
  const last = points.pop() ?? 0
  const end = String.fromCodePoint(...points, Math.min(last + 1, 0x10ffff))
  return `metadata.${key}:[${quotePhrase(start)} TO ${quotePhrase(end)}}`
}

/** How search indexes may have it, too: a number without separators, an e-mail address in lower case. */
const spellingsOf = (text: string): readonly string[] => {
  const digits = text.replace(/[\s.-]/g, '')
  const other = /^\d{9,}$/.test(digits) ? digits : text.includes('@') ? text.toLowerCase() : text
  return other === text ? [text] : [text, other]
}

/** A text without a field. Terms besides `id:` have an index each, which finds them among any number of tokens. */
const readText = (text: string, { keys, ids }: Known): Required<Pick<Reading, 'query' | 'words'>> => {
  if (ids.includes(text)) return { query: `id:${quotePhrase(text)}`, words: 'id of a token' }
  // A query has at most 100 terms and 4,000 characters.
  const named = keys.slice(0, Math.min(20, 3_000 / (2 * text.length + 40)))
  const metadata = named.length === 0 ? '' : ` or metadata (${named.join(', ')})`
  const start = startOf(text)
  const isStart = start !== text
  const terms = [
    ...(isStart ? [`id:${start.replace(/[\s()[\]{}"^~?*\\]/g, String.raw`\$&`)}*`] : []),
    ...spellingsOf(start).map((value) => `data:${quoteIfNeeded(value)}`),
    ...named.flatMap((key) => spellingsOf(text).map((value) => entryTerm(key, value))),
  ]
  return {
    query: terms.join(' OR '),
    words: isStart
      ? `ids${metadata} that begin with it, or data that equals it`
      : `${/^\d{4}$/.test(text) ? 'last four digits' : text.includes('@') ? 'e-mail address' : 'value'} in data${metadata}`,
  }
}

/**
 * Reads a search as people type it. A query of the language stays as it is. `customer:1003` is short for
 * `metadata.customer:1003`. A text without a field, such as `4242` or `Ada`, is an id, or it is searched for in data
 * and metadata, which must equal it. `Ada*` also finds ids and metadata that begin with it. Blanks and quotes around a
 * search are left out.
 */
export const readSearch = (typed: string, known: Known = { keys: [], ids: [] }): Reading => {
  const unquoted = typed.trim().replace(/^["'`“‘]([^"]*)["'`”’]$/, '$1')
  const text = unquoted.trim()
  if (text !== '' && !HAS_FIELD.test(text))
    return {
      ...readText(text, known),
      texts: [text],
      ...(text.endsWith('*') ? {} : { wider: `${text}*` }),
    }
  const notes = new Set<string>()
  const texts: string[] = []
  const textTerm = (words: string): string => {
    const plain = words.replaceAll('"', '')
    const reading = readText(plain, known)
    texts.push(plain)
    notes.add(reading.words)
    return `(${reading.query})`
  }
  const query = text.replace(PART, (_part, field?: string, value = '', behind = '', alone = '') => {
    if (field === undefined) return textTerm(alone)
    const isOwn = isOfLanguage(field)
    const isOpen = value === '' || !(isOwn || isQuoted(value))
    const joined = isOpen ? `${value} ${behind.replaceAll('"', '')}`.trim() : value
    const rest = isOpen || behind === '' ? '' : ` ${textTerm(behind)}`
    if (joined !== value || !isOwn) notes.add(isOwn ? field : `metadata ${field}`)
    if (isOwn) return `${field}:${joined === value ? value : quoteIfNeeded(joined)}${rest}`
    return `${isQuoted(value) ? `metadata.${field}:${value}` : entryTerm(field, joined)}${rest}`
  })
  return { query, texts, ...(notes.size === 0 ? {} : { words: [...notes].join('; ') }) }
}
