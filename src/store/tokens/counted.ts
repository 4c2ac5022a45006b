import type { Counted } from './counts.ts'
import type { CountedRecord } from './statements.ts'

/** A row as it is counted, with its terms. */
export const countedToken = (
  { metadata, ...record }: CountedRecord,
  terms: readonly { readonly term: Uint8Array }[],
): Counted => ({
  ...record,
  metadata: metadata === null ? null : (JSON.parse(metadata) as Record<string, string>),
  terms: terms.map(({ term }) => term),
})
