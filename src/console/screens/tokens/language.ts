/** Values that are known from the tokens on the page. */
export interface KnownValues {
  readonly types: readonly string[]
  readonly containers: readonly string[]
  /** Keys. */
  readonly metadata: readonly string[]
  readonly now: number
}

/** The fields of the search language. */
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

type Candidate = readonly [insert: string, hint: string]

const OPERATORS: readonly Candidate[] = [
  ['AND ', 'both; also between terms that follow each other'],
  ['OR ', 'one of both'],
  ['NOT ', 'all but these'],
]

const timesOf = (field: string, now: number): readonly Candidate[] => {
  const day = (days: number) => new Date(now + days * 86_400_000).toISOString().slice(0, 10)
  return field === 'expires_at'
    ? [
        [`[* TO ${day(7)}] `, 'within 7 days'],
        [`[* TO ${day(30)}] `, 'within 30 days'],
        ['[* TO *] ', 'at any time'],
      ]
    : [
        [`${day(0)} `, 'today (UTC)'],
        [`[${day(-7)} TO *] `, 'in the last 7 days'],
        [`[${day(-30)} TO *] `, 'in the last 30 days'],
      ]
}

const valuesOf = (field: string, { types, containers, now }: KnownValues): readonly Candidate[] => {
  if (field.endsWith('_at')) return timesOf(field, now)
  const values = field === 'type' ? types : field === 'container' ? containers : []
  return values.map((value) => [`${value} `, field])
}

const fieldsOf = ({ metadata }: KnownValues): readonly Candidate[] =>
  FIELDS.flatMap(([field, hint]): readonly Candidate[] =>
    field.endsWith('<key>')
      ? [
          ...metadata.map((key): Candidate => [`metadata.${key}:`, hint]),
          ['metadata.', `${hint}, metadata.<key>:<value>`],
        ]
      : [[`${field}:`, hint]],
  )

export interface Suggestion {
  /** Replaces the word at the caret. */
  readonly insert: string
  readonly hint: string
  /** The text with it, and the caret behind it. */
  readonly text: string
  readonly caret: number
}

const MAX_OPTIONS = 8

/** Suggestions of the language for the word at the caret, at most eight; none inside quotes and ranges. */
export const suggest = (text: string, caret: number, knownValues: KnownValues): readonly Suggestion[] => {
  const before = text.slice(0, caret)
  const unquoted = before.replace(/\\./gs, '  ')
  if ((unquoted.match(/"/g)?.length ?? 0) % 2 === 1 || /[[{][^\]}]*$/.test(unquoted)) return []
  const word = /[^\s()]*$/.exec(before)?.[0] ?? ''
  const ahead = text.slice(0, caret - word.length)
  const sign = /^[!-]?/.exec(word)?.[0].length ?? 0
  const colon = word.indexOf(':')
  const from = ahead.length + (colon < 0 ? sign : colon + 1)
  const typed = text.slice(from, caret).toLowerCase()
  const isAfterTerm = /[^\s(!-]\s+$/.test(ahead) && !/\b(?:AND|OR|NOT)\s+$/.test(ahead)
  const all =
    colon < 0
      ? [...(isAfterTerm && sign === 0 ? OPERATORS : []), ...fieldsOf(knownValues)]
      : valuesOf(word.slice(sign, colon), knownValues)
  return all
    .filter(([insert]) => insert.toLowerCase().startsWith(typed) && insert.trim() !== typed)
    .slice(0, MAX_OPTIONS)
    .map(([insert, hint]) => {
      const behind = text.slice(caret).replace(/^ /, insert.endsWith(' ') ? '' : ' ')
      return { insert, hint, text: text.slice(0, from) + insert + behind, caret: from + insert.length }
    })
}
