/** Filters of the list, as the hash has them, and the calls that they make. */

export interface Filters {
  /** A query in the search language. */
  readonly q: string
  readonly type: string
  readonly container: string
  /** `key=value`, or `key`. */
  readonly metadata: string
  readonly expiry: string
}

/** Names of the filters in the hash. */
export const FILTERS = ['q', 'type', 'container', 'metadata', 'expiry'] as const satisfies (keyof Filters)[]

export const EXPIRIES = {
  day: 'Ends within 24 hours',
  week: 'Ends within 7 days',
  month: 'Ends within 30 days',
  some: 'Ends at some time',
  never: 'Never ends',
} as const

const DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 }
const DAY_MS = 86_400_000

/** A phrase of the search language. */
export const quotePhrase = (text: string): string => `"${text.replace(/["\\]/g, String.raw`\$&`)}"`

/** `pci/high` → `/pci/high/`. */
export const containerOf = (text: string): string => {
  const names = text.split('/').filter((name) => name !== '')
  return names.length === 0 ? '' : `/${names.join('/')}/`
}

/** `order=7` or `order: 7` → both parts; without a value: the key. Undefined: it is no key of metadata. */
export const metadataOf = (text: string): { readonly key: string; readonly value?: string } | undefined => {
  const match = /^\s*([\w.-]{1,200})\s*(?:[=:]\s*(.*?)\s*)?$/su.exec(text)
  if (match?.[1] === undefined) return undefined
  return match[2] === undefined || match[2] === '' ? { key: match[1] } : { key: match[1], value: match[2] }
}

const expiryTerm = (expiry: string, now: number): string | undefined => {
  if (expiry === 'never') return 'NOT expires_at:[* TO *]'
  if (expiry === 'some') return 'expires_at:[* TO *]'
  const days = DAYS[expiry]
  return days === undefined
    ? undefined
    : `expires_at:[* TO ${quotePhrase(new Date(now + days * DAY_MS).toISOString())}]`
}

/** The filters as one query of the search language. `now`: ms since the epoch. */
export const searchQuery = ({ q, type, container, metadata, expiry }: Filters, now: number): string => {
  const terms: string[] = []
  if (type !== '') terms.push(`type:${quotePhrase(type)}`)
  if (containerOf(container) !== '') terms.push(`container:${quotePhrase(containerOf(container))}`)
  const entry = metadata === '' ? undefined : metadataOf(metadata)
  if (entry !== undefined)
    terms.push(`metadata.${entry.key}:${entry.value === undefined ? '[* TO *]' : quotePhrase(entry.value)}`)
  const ends = expiryTerm(expiry, now)
  if (ends !== undefined) terms.push(ends)
  const query = q.trim()
  if (query !== '') terms.unshift(terms.length === 0 ? query : `(${query})`)
  return terms.join(' AND ')
}

/** The filters for keys that may list tokens but not search them: no query, no expiry, no key without a value. */
export const listQuery = ({ type, container, metadata }: Filters): Readonly<Record<string, string>> => {
  const entry = metadata === '' ? undefined : metadataOf(metadata)
  return {
    ...(type === '' ? {} : { type }),
    ...(containerOf(container) === '' ? {} : { container: containerOf(container) }),
    ...(entry?.value === undefined ? {} : { [`metadata[${entry.key}]`]: entry.value }),
  }
}
