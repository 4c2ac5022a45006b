import { parseScope } from '../../common/containers.ts'
import type { Bound, SearchField, SearchNode } from '../../store/tokens/types.ts'
import { parseInstant } from '../expiry.ts'

/** A value as written: `wild` when an unescaped `*` ended it (not part of `text`). */
export interface Value {
  readonly text: string
  readonly wild: boolean
}

/** A range as written; an absent bound is `*`. */
export interface Range {
  readonly from?: { readonly text: string; readonly inclusive: boolean }
  readonly to?: { readonly text: string; readonly inclusive: boolean }
}

/** An error message for the caller about a field's search. */
export class SearchIssue extends Error {}

const TEXT_FIELDS: ReadonlySet<string> = new Set([
  'id',
  'type',
  'container',
  'fingerprint',
  'created_by',
  'modified_by',
] satisfies SearchField[])
const TIME_FIELDS: ReadonlySet<string> = new Set([
  'created_at',
  'modified_at',
  'expires_at',
] satisfies SearchField[])
const METADATA = /^metadata\.([\w.-]{1,200})$/

export const FIELDS =
  'id, type, data, fingerprint, container, metadata.<key>, created_by, created_at, modified_by, modified_at, expires_at'

const instantOf = (text: string) => {
  const instant = parseInstant(text)
  if (!instant) throw new SearchIssue('a time must be an ISO 8601 date or date-time')
  return instant
}

const containerOf = ({ text, wild }: Value): SearchNode => {
  const scope = wild ? text.toLowerCase() : parseScope(text)
  if (scope === undefined || (wild && text !== '' && !text.startsWith('/')))
    throw new SearchIssue('a container must be a path such as /pci/high/')
  return { kind: 'prefix', field: 'container', value: scope === '' ? '/' : scope }
}

/** `field:value`. A date without time means the whole day. Throws `SearchIssue`. */
export const matchNode = (field: string, value: Value, term: (text: string) => Buffer): SearchNode => {
  if (field === 'container') return containerOf(value)
  if (value.wild && field === 'id') return { kind: 'prefix', field, value: value.text }
  if (value.wild)
    throw new SearchIssue('* is supported at the end of id and container only; quote it to search for it')
  if (field === 'data') return { kind: 'term', term: term(value.text) }
  if (TIME_FIELDS.has(field)) {
    const { from, until } = instantOf(value.text)
    return {
      kind: 'range',
      field: field as SearchField,
      from: { value: from, inclusive: true },
      to: { value: until, inclusive: false },
    }
  }
  if (TEXT_FIELDS.has(field)) return { kind: 'equals', field: field as SearchField, value: value.text }
  const key = METADATA.exec(field)?.[1]
  if (key !== undefined) return { kind: 'metadata', key, value: value.text }
  throw new SearchIssue(`a field must be one of ${FIELDS}`)
}

/** A day ends when the next one starts, so an inclusive end and an exclusive start lie after the day. */
const timeBounds = ({ from, to }: Range): { readonly from?: Bound; readonly to?: Bound } => ({
  ...(from
    ? {
        from: {
          value: from.inclusive ? instantOf(from.text).from : instantOf(from.text).until,
          inclusive: true,
        },
      }
    : {}),
  ...(to
    ? { to: { value: to.inclusive ? instantOf(to.text).until : instantOf(to.text).from, inclusive: false } }
    : {}),
})

const textBounds = ({ from, to }: Range): { readonly from?: Bound; readonly to?: Bound } => ({
  ...(from ? { from: { value: from.text, inclusive: from.inclusive } } : {}),
  ...(to ? { to: { value: to.text, inclusive: to.inclusive } } : {}),
})

/** A range without bounds matches any value: the lowest bound excludes absent values only. */
const bounded = (
  bounds: { readonly from?: Bound; readonly to?: Bound },
  least: string | number,
): { readonly from?: Bound; readonly to?: Bound } =>
  bounds.from || bounds.to ? bounds : { from: { value: least, inclusive: true } }

/** `field:[a TO b]`. Times compare as times, all else as text. Throws `SearchIssue`. */
export const rangeNode = (field: string, range: Range): SearchNode => {
  if (field === 'data') throw new SearchIssue('data is matched by exact value only, not by range')
  if (TIME_FIELDS.has(field))
    return { kind: 'range', field: field as SearchField, ...bounded(timeBounds(range), 0) }
  if (TEXT_FIELDS.has(field))
    return { kind: 'range', field: field as SearchField, ...bounded(textBounds(range), '') }
  const key = METADATA.exec(field)?.[1]
  if (key !== undefined) return { kind: 'metadata-range', key, ...textBounds(range) }
  throw new SearchIssue(`a field must be one of ${FIELDS}`)
}
