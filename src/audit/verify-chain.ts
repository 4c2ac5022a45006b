import { setTimeout as delay } from 'node:timers/promises'
import { isLossLine } from './acknowledged-loss.ts'
import { type ChainError, type ChainPosition, nextPiece } from './chain-reader.ts'
import { CHECKPOINT } from './checkpoint.ts'
import { type ChainLine, firstSeqOf, type Mac } from './line.ts'
import { missingInStore } from './locate-position.ts'
import type { RetainedChain } from './retained-chain.ts'

const BATCH = 1000
/** Time for a line being written to become complete (ms, times). */
const TIMEOUT = { wait: 20, times: 10 } as const

/** Last record of a journal that the store has ingested. */
type Position = { readonly seq: number; readonly hash: string } | undefined

interface VerifiedChain {
  /** After the last line that verifies and was not replaced. */
  readonly place: ChainPosition
  /** Records that acknowledge losses. */
  readonly acknowledged: readonly ChainLine[]
  readonly issue?: ChainError
  /** The issue is an unfinished line at the very end: the next start of its writer removes it. */
  readonly torn?: true
}

/**
 * Verifies a retained chain to its end, or to its first issue. `position` was read before, so an active journal may
 * only be ahead of it.
 */
export const verifyChain = async (
  mac: Mac,
  name: string,
  { segments, checkpoint, start, issue: gap }: RetainedChain,
  position: Position,
): Promise<VerifiedChain> => {
  let place: ChainPosition = start
  let timeout: number = TIMEOUT.times
  const end = segments.at(-1)?.file ?? `${name}.*.jsonl`
  const acknowledged: ChainLine[] = []
  const stop = (issue?: ChainError): VerifiedChain => ({
    place,
    acknowledged,
    ...(issue === undefined ? {} : { issue }),
  })
  const here = (reason: string): ChainError => ({
    file: end,
    line: place.line + 1,
    seq: place.seq + 1,
    reason,
  })
  if (gap?.file === name + CHECKPOINT) return stop(gap)
  if (segments.length === 0)
    return position === undefined && checkpoint === undefined
      ? stop()
      : stop({ file: end, line: 0, seq: start.seq + 1, reason: 'all files of the journal are missing' })
  if (checkpoint !== undefined && position?.seq === checkpoint.seq && position.hash !== checkpoint.hash)
    return stop(here('the record is not the one that was ingested'))
  for (;;) {
    const from = place
    const piece = await nextPiece(mac, segments, from, BATCH)
    const at = position?.seq ?? 0
    const index = piece.lines.findIndex((line) => firstSeqOf(line) <= at && at <= line.seq)
    const reached = piece.lines[index]
    if (reached !== undefined && (reached.seq !== at || reached.hash !== position?.hash)) {
      const before = piece.lines.slice(0, index).reduce((sum, { records }) => sum + records.length, 0)
      if (before > 0) place = (await nextPiece(mac, segments, from, before)).place
      const file = segments.find(({ number }) => number === piece.place.segment)!.file
      const line = piece.place.line - (piece.lines.length - 1 - index)
      const seq = firstSeqOf(reached)
      return stop({ file, line, seq, reason: 'the record is not the one that was ingested' })
    }
    place = piece.place
    acknowledged.push(...piece.lines.filter(isLossLine))
    if (piece.issue !== undefined)
      return stop(
        segments.some(({ number }) => number === place.segment) ? piece.issue : (gap ?? piece.issue),
      )
    if (piece.lines.length > 0) continue
    if (gap !== undefined) return stop(gap)
    if (piece.rest > 0 && timeout-- > 0) {
      await delay(TIMEOUT.wait)
      continue
    }
    if (position !== undefined && place.seq < position.seq)
      return stop(here(`the journal ends here, but record ${position.seq} was ingested from it`))
    if (
      checkpoint !== undefined &&
      position !== undefined &&
      checkpoint.seq > position.seq &&
      acknowledged.length === 0
    )
      return stop(missingInStore(name, position.seq, checkpoint.seq))
    if (piece.rest > 0) return { ...stop(here('the last line is incomplete')), torn: true }
    return stop()
  }
}
