/** Suggestions of the search language for the word at the caret. */

export interface Suggestion {
  /** Replaces the word at the caret. */
  readonly insert: string
  readonly hint: string
}

interface Suggestions {
  /** The word at the caret. */
  readonly from: number
  readonly to: number
  readonly options: readonly Suggestion[]
}

/** Values that are known from the tokens on the page. */
export interface KnownValues {
  readonly types: readonly string[]
  readonly containers: readonly string[]
  readonly metadata: readonly string[]
  readonly now: number
}

export const FIELDS: readonly (readonly [field: string, hint: string, example: string])[] = [
  ['id', 'the token; * at the end', 'id:customer-42*'],
  ['type', 'its type', 'type:card'],
  ['container', 'its container, and those below', 'container:/pci/'],
  ['metadata.<key>', 'an entry of its metadata', 'metadata.order:"7 b"'],
  ['data', 'a value of its search indexes, exactly', 'data:6789'],
  ['fingerprint', 'its fingerprint', 'fingerprint:CC2X…'],
  ['created_at', 'when it was created', 'created_at:[2030-01-01 TO *]'],
  ['created_by', 'the application that created it', 'created_by:5f0c…'],
  ['modified_at', 'when it was changed', 'modified_at:2030-01-31'],
  ['modified_by', 'the application that changed it', 'modified_by:5f0c…'],
  ['expires_at', 'when it ends', 'NOT expires_at:[* TO *]'],
]

const OPERATORS: readonly Suggestion[] = [
  { insert: 'AND ', hint: 'both; also between terms that follow each other' },
  { insert: 'OR ', hint: 'one of both' },
  { insert: 'NOT ', hint: 'all but these' },
]

const MAX_OPTIONS = 8
const DAY_MS = 86_400_000

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

const timesOf = (field: string, now: number): readonly Suggestion[] =>
  field === 'expires_at'
    ? [
        { insert: `[* TO ${dayOf(now + 7 * DAY_MS)}] `, hint: 'within 7 days' },
        { insert: `[* TO ${dayOf(now + 30 * DAY_MS)}] `, hint: 'within 30 days' },
        { insert: '[* TO *] ', hint: 'at any time' },
      ]
    : [
        { insert: `${dayOf(now)} `, hint: 'today (UTC)' },
        { insert: `[${dayOf(now - 7 * DAY_MS)} TO *] `, hint: 'in the last 7 days' },
        { insert: `[${dayOf(now - 30 * DAY_MS)} TO *] `, hint: 'in the last 30 days' },
      ]

const valuesOf = (field: string, knownValues: KnownValues): readonly Suggestion[] => {
  if (field.endsWith('_at')) return timesOf(field, knownValues.now)
  const values = field === 'type' ? knownValues.types : field === 'container' ? knownValues.containers : []
  return values.map((value) => ({ insert: `${value} `, hint: field }))
}

const fieldsOf = (knownValues: KnownValues): readonly Suggestion[] =>
  FIELDS.flatMap(([field, hint]) =>
    field.endsWith('<key>')
      ? [
          ...knownValues.metadata.map((key) => ({ insert: `metadata.${key}:`, hint })),
          { insert: 'metadata.', hint: `${hint}, metadata.<key>:<value>` },
        ]
      : [{ insert: `${field}:`, hint }],
  )

/** Suggestions for the word at the caret, at most eight; none inside quotes and ranges. */
export const suggest = (text: string, caret: number, knownValues: KnownValues): Suggestions => {
  const before = text.slice(0, caret)
  const none = { from: caret, to: caret, options: [] }
  const unquoted = before.replace(/\\./gs, '  ')
  if ((unquoted.match(/"/g)?.length ?? 0) % 2 === 1 || /[[{][^\]}]*$/.test(unquoted)) return none
  const word = /[^\s()]*$/.exec(before)?.[0] ?? ''
  const start = caret - word.length
  const sign = /^[!-]?/.exec(word)?.[0].length ?? 0
  const colon = word.indexOf(':')
  const from = start + (colon < 0 ? sign : colon + 1)
  const typed = text.slice(from, caret).toLowerCase()
  const isAfterTerm =
    /[^\s(!-]\s+$/.test(text.slice(0, start)) && !/\b(?:AND|OR|NOT)\s+$/.test(text.slice(0, start))
  const all =
    colon < 0
      ? [...(isAfterTerm && sign === 0 ? OPERATORS : []), ...fieldsOf(knownValues)]
      : valuesOf(word.slice(sign, colon), knownValues)
  const options = all.filter(
    ({ insert }) => insert.toLowerCase().startsWith(typed) && insert.trim() !== typed,
  )
  return { from, to: caret, options: options.slice(0, MAX_OPTIONS) }
}

/** The text with a suggestion in the place of the word, and the caret behind it. */
export const applySuggestion = (
  text: string,
  { from, to }: Pick<Suggestions, 'from' | 'to'>,
  { insert }: Suggestion,
): { readonly text: string; readonly caret: number } => ({
  text: text.slice(0, from) + insert + text.slice(to).replace(/^ /, insert.endsWith(' ') ? '' : ' '),
  caret: from + insert.length,
})
