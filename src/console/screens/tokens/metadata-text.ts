/** Metadata as lines of text: `key: value`. */

export type Metadata = Readonly<Record<string, string>>

export const metadataText = (metadata: Metadata): string =>
  Object.entries(metadata)
    .map(([key, value]) => `${key}: ${/^\s|\s$|[\r\n]|^"/.test(value) ? JSON.stringify(value) : value}`)
    .join('\n')

/** What the lines say, or the first one that says nothing. A value in quotes is JSON. */
export const parseMetadata = (text: string): { readonly metadata: Metadata } | { readonly line: number } => {
  const entries: [string, string][] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const found = /^\s*([\w.-]{1,200})\s*[:=]\s*(.*?)\s*$/u.exec(line)
    if (found === null) return { line: index + 1 }
    const [, key = '', value = ''] = found
    try {
      entries.push([key, value.startsWith('"') ? String(JSON.parse(value)) : value])
    } catch {
      return { line: index + 1 }
    }
  }
  return { metadata: Object.fromEntries(entries) }
}

/** A merge patch (RFC 7386) that makes `to` of `from`. */
export const metadataPatch = (from: Metadata, to: Metadata): Readonly<Record<string, string | null>> =>
  Object.fromEntries([
    ...Object.keys(from).flatMap((key) => (Object.hasOwn(to, key) ? [] : [[key, null] as const])),
    ...Object.entries(to).filter(([key, value]) => !Object.hasOwn(from, key) || from[key] !== value),
  ])
