import { type ChainError, type ChainPosition, gapIn } from './chain-reader.ts'
import { CHECKPOINT, type Checkpoint, positionAfter, readCheckpoint } from './checkpoint.ts'
import { genesis, type Mac } from './line.ts'
import { listSegments, type Segment } from './segments.ts'

/** Retained part of a journal's chain. */
export interface RetainedChain {
  /** In order; without those that the checkpoint counts as removed, whether they exist or not. */
  readonly segments: readonly Segment[]
  readonly checkpoint: Checkpoint | undefined
  /** Start: after the checkpoint, or at the first record. */
  readonly start: ChainPosition
  /** A file is missing, or the checkpoint is corrupt. */
  readonly issue?: ChainError
}

/**
 * Lists files before it reads the checkpoint: the checkpoint is written first, so it covers files removed during the
 * listing.
 */
export const readRetainedChain = async (
  mac: Mac,
  directory: string,
  name: string,
): Promise<RetainedChain> => {
  const listed = listSegments(directory).get(name) ?? []
  const checkpoint = await readCheckpoint(mac, directory, name)
  const first: ChainPosition = { segment: 1, offset: 0, line: 0, seq: 0, hash: genesis(mac, name) }
  if (checkpoint === 'corrupt') {
    const reason = 'the checkpoint was altered'
    return {
      segments: listed,
      checkpoint: undefined,
      start: first,
      issue: { file: name + CHECKPOINT, line: 1, seq: 1, reason },
    }
  }
  const start = checkpoint === undefined ? first : positionAfter(checkpoint)
  const segments = listed.filter(({ number }) => number >= start.segment)
  const issue = gapIn(segments, start)
  return { segments, checkpoint, start, ...(issue === undefined ? {} : { issue }) }
}
