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

export const NO_FILTERS: Filters = { q: '', type: '', container: '', metadata: '', expiry: '' }

/** Choices of the filter by expiry: their labels, and days until it or a term. */
export const EXPIRIES: Readonly<Record<string, readonly [label: string, ends: number | string]>> = {
  day: ['Ends within 24 hours', 1],
  week: ['Ends within 7 days', 7],
  month: ['Ends within 30 days', 30],
  some: ['Ends at some time', 'expires_at:[* TO *]'],
  never: ['Never ends', 'NOT expires_at:[* TO *]'],
}

/** A phrase of the search language. */
export const quotePhrase = (text: string): string => `"${text.replace(/["\\]/g, String.raw`\$&`)}"`

/** `pci/high` → `/pci/high/`. */
export const containerOf = (text: string): string => {
  const names = text.split('/').filter((name) => name !== '')
  return names.length === 0 ? '' : `/${names.join('/')}/`
}

/** `order=7` or `order: 7` → both parts; without a value: the key. Undefined: it is no key of metadata. */
export const metadataOf = (text: string): { readonly key: string; readonly value?: string } | undefined => {
  const [, key, value] = /^\s*([\w.-]{1,200})\s*(?:[=:]\s*(.*?)\s*)?$/su.exec(text) ?? []
  return key === undefined ? undefined : value ? { key, value } : { key }
}

const expiryTerm = (expiry: string, now: number): string | undefined => {
  const ends = Object.hasOwn(EXPIRIES, expiry) ? EXPIRIES[expiry]?.[1] : undefined
  return typeof ends === 'number'
    ? `expires_at:[* TO ${quotePhrase(new Date(now + ends * 86_400_000).toISOString())}]`
    : ends
}

/** The filters as one query of the search language. `now`: ms since the epoch. */
export const searchQuery = (filters: Filters, now: number): string => {
  const container = containerOf(filters.container)
  const { key, value } = metadataOf(filters.metadata) ?? {}
  const terms = [
    filters.type && `type:${quotePhrase(filters.type)}`,
    container && `container:${quotePhrase(container)}`,
    key && `metadata.${key}:${value === undefined ? '[* TO *]' : quotePhrase(value)}`,
    expiryTerm(filters.expiry, now),
  ].filter(Boolean)
  const query = filters.q.trim()
  return [query && (terms.length === 0 ? query : `(${query})`), ...terms].filter(Boolean).join(' AND ')
}

/** The filters for keys that may list tokens but not search them: no query, no expiry, no key without a value. */
export const listQuery = ({ type, container, metadata }: Filters): Readonly<Record<string, string>> => {
  const { key, value = '' } = metadataOf(metadata) ?? {}
  const query = { type, container: containerOf(container), [`metadata[${key}]`]: value }
  return Object.fromEntries(Object.entries(query).filter(([, text]) => text !== ''))
}
