import { type ChainError, type ChainPosition, gapIn } from './chain-reader.ts'
import { ANCHOR, type Anchor, behind, readAnchor } from './checkpoint.ts'
import { genesis, type Mac } from './line.ts'
import { listSegments, type Segment } from './segments.ts'

/** What is kept of a journal's chain. */
export interface RetainedChain {
  /** In order; those that the anchor counts as removed are left out, whether they are there or not. */
  readonly segments: readonly Segment[]
  readonly anchor: Anchor | undefined
  /** Where it begins: behind the anchor, or at the first record. */
  readonly start: ChainPosition
  /** A file is missing, or the anchor is not what was written here. */
  readonly issue?: ChainError
}

/**
 * Files are listed before the anchor is read: what was removed while the list was made is known to the anchor, which is
 * written first.
 */
export const readRetainedChain = async (
  mac: Mac,
  directory: string,
  name: string,
): Promise<RetainedChain> => {
  const listed = (await listSegments(directory)).get(name) ?? []
  const anchor = await readAnchor(mac, directory, name)
  const first: ChainPosition = { segment: 1, offset: 0, line: 0, seq: 0, hash: genesis(mac, name) }
  if (anchor === 'unsound') {
    const reason = 'it is not what was written here'
    return {
      segments: listed,
      anchor: undefined,
      start: first,
      issue: { file: name + ANCHOR, line: 1, seq: 1, reason },
    }
  }
  const start = anchor === undefined ? first : behind(anchor)
  const segments = listed.filter(({ number }) => number >= start.segment)
  const issue = gapIn(segments, start)
  return { segments, anchor, start, ...(issue === undefined ? {} : { issue }) }
}
