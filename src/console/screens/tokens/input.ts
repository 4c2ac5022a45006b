import { ApiError } from '../../api/problem.ts'
import { parseJson } from '../../kit/json.ts'
import { containerOf } from './query.ts'

/** An error of the input, at its member, as the API would report it. */
const invalid = (member: string, sentence: string): ApiError =>
  new ApiError({ status: 400, issues: { [member]: [sentence] } })

type Metadata = Readonly<Record<string, string>>

const NEEDS_QUOTES = /^\s|\s$|[\r\n\u2028\u2029]|^"/

/** Metadata as lines of text: `key: value`. */
export const metadataText = (metadata: Metadata): string =>
  Object.entries(metadata)
    .map(([key, value]) => `${key}: ${NEEDS_QUOTES.test(value) ? JSON.stringify(value) : value}`)
    .join('\n')

const entryOf = (line: string): readonly [string, string] | undefined => {
  const [, key, value = ''] = /^\s*([\w.-]{1,200})\s*[:=]\s*(.*?)\s*$/su.exec(line) ?? []
  try {
    return key === undefined ? undefined : [key, value.startsWith('"') ? String(JSON.parse(value)) : value]
  } catch {
    return undefined
  }
}

/** Metadata of the lines. A value in quotes is JSON. Throws `ApiError` for a line that is not an entry. */
export const parseMetadata = (text: string): Metadata =>
  Object.fromEntries(
    text.split('\n').flatMap((line, index) => {
      if (line.trim() === '') return []
      const entry = entryOf(line)
      if (entry === undefined) throw invalid('metadata', `Line ${index + 1} is not of the form key: value.`)
      return [entry]
    }),
  )

/** A merge patch (RFC 7386) that makes `to` of `from`. */
export const metadataPatch = (from: Metadata, to: Metadata): Readonly<Record<string, string | null>> =>
  Object.fromEntries([
    ...Object.keys(from).flatMap((key) => (Object.hasOwn(to, key) ? [] : [[key, null] as const])),
    ...Object.entries(to).filter(([key, value]) => !Object.hasOwn(from, key) || from[key] !== value),
  ])

/** JSON where it looks so, else a text; an expression is a text. */
const typedValue = (member: string, text: string): unknown => {
  if (!/^\s*(?:\{(?!\{)|[["])/.test(text)) return text.trim()
  const { value, error } = parseJson(text)
  if (error !== undefined) throw invalid(member, error)
  return value
}

/** The body of `POST /tokens` from the controls of the form. Throws `ApiError` for what is wrong. */
export const inputOf = (text: (name: string) => string): object => {
  const container = containerOf(text('containers'))
  const metadata = parseMetadata(text('metadata'))
  return {
    type: text('type'),
    data: typedValue('data', text('data')),
    ...(container === '' ? {} : { containers: [container] }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(text('mask').trim() === '' ? {} : { mask: typedValue('mask', text('mask')) }),
  }
}
