import { invalid } from './form-dialog.ts'

/** Metadata as lines of text: `key: value`. */
export type Metadata = Readonly<Record<string, string>>

export const metadataText = (metadata: Metadata): string =>
  Object.entries(metadata)
    .map(
      ([key, value]) =>
        `${key}: ${/^\s|\s$|[\r\n\u2028\u2029]|^"/.test(value) ? JSON.stringify(value) : value}`,
    )
    .join('\n')

const entryOf = (line: string): readonly [string, string] | undefined => {
  const [, key, value = ''] = /^\s*([\w.-]{1,200})\s*[:=]\s*(.*?)\s*$/su.exec(line) ?? []
  try {
    return key === undefined ? undefined : [key, value.startsWith('"') ? String(JSON.parse(value)) : value]
  } catch {
    return undefined
  }
}

/** Metadata of the lines. A value in quotes is JSON. Throws `invalid` for a line that is not an entry. */
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
