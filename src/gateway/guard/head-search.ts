/** Values in the headers and trailers of a response. */
import type { Head } from '../headers.ts'
import type { Disclosures } from './disclosures.ts'
import type { Findings } from './findings.ts'
import { scanText } from './scan.ts'

/** What describes the bytes of a body (RFC 9110 §8.8.3, RFC 9421, RFC 9530), which may be others now. */
const OF_BODY = [
  'etag',
  'digest',
  'content-digest',
  'repr-digest',
  'content-md5',
  'signature',
  'signature-input',
]

/** Headers whose value is a URL. */
const URLS = ['location', 'content-location', 'link', 'refresh']

/** Headers that describe the bytes of the body. */
export const digestsIn = (head: Head): readonly string[] => OF_BODY.filter((name) => head.has(name))

/** The lines that must change. */
export const searchHead = (
  head: Head,
  disclosures: Disclosures,
  findings: Findings,
): ReadonlyMap<string, readonly string[]> => {
  const changed = new Map<string, readonly string[]>()
  head.forEach((lines, name) => {
    if (name.startsWith(':')) return
    const searched = lines.map((line) => {
      const { replaces } = disclosures
      const scanned = scanText(disclosures.needles, line, { isUrl: URLS.includes(name), replaces })
      for (const finding of scanned.findings) findings.add(finding, name)
      return scanned.text
    })
    if (searched.some((line, at) => line !== lines[at])) changed.set(name, searched)
  })
  return changed
}
