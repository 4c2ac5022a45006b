import { link, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../common/clock.ts'
import { newId } from '../common/ids.ts'
import { syncPath } from '../common/sync-path.ts'
import type { LogStore } from '../store/logs/types.ts'
import { lossRecord } from './acknowledged-loss.ts'
import type { ChainError, ChainPosition } from './chain-reader.ts'
import { CHECKPOINT } from './checkpoint.ts'
import { lockJournal } from './journal-lock.ts'
import { LineDrafts, type Mac, writeLine } from './line.ts'
import { readRetainedChain } from './retained-chain.ts'
import { type Segment, segmentOf } from './segments.ts'
import { verifyChain } from './verify-chain.ts'
import { writeSynced } from './write-synced.ts'

export interface LossDeps {
  readonly mac: Mac
  readonly logs: LogStore
  readonly own?: (name: string) => boolean
  readonly clock: Clock
}

/** The part of a journal from its first issue to its end. */
interface Loss {
  readonly issue: ChainError
  /** After the last valid record. */
  readonly place: ChainPosition
  /** The last record ever known: the chain continues after it. */
  readonly last: number
  /** Files with content after `place`. */
  readonly segments: readonly Segment[]
  /** Whether the checkpoint is invalid too: the chain starts anew. */
  readonly checkpoint: boolean
}

/** The lost part of a journal; undefined when it is valid, or ends in half a line that the next start removes. */
export const findLoss = async (
  { mac, logs }: LossDeps,
  directory: string,
  name: string,
): Promise<Loss | undefined> => {
  const position = await logs.position(name)
  const retained = await readRetainedChain(mac, directory, name)
  const { place, issue, torn } = await verifyChain(mac, name, retained, position)
  if (issue === undefined || torn) return undefined
  return {
    issue,
    place,
    last: Math.max(place.seq, position?.seq ?? 0),
    segments: retained.segments.filter(({ number }) => number >= place.segment),
    checkpoint: retained.issue?.file === name + CHECKPOINT,
  }
}

const firstBytes = async (path: string, length: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(length)
  const file = await open(path, 'r')
  try {
    for (let read = 0; read < length; ) {
      const { bytesRead } = await file.read(bytes, read, length - read, read)
      if (bytesRead === 0) throw new Error(`${path} became shorter`)
      read += bytesRead
    }
    return bytes
  } finally {
    await file.close()
  }
}

/**
 * Acknowledges the loss of a journal: files with content after the last valid record are renamed to `.damaged-<time>`,
 * and the chain continues with a record of the loss. At any moment the journal is either unchanged or has that record.
 * Returns the names of the files set aside; undefined when there was no loss. Rejects with `gateway_timeout` while a
 * process writes the journal.
 */
export const acknowledgeLoss = async (
  deps: LossDeps,
  directory: string,
  name: string,
): Promise<readonly string[] | undefined> => {
  const unlock = lockJournal(directory, name)
  try {
    const loss = await findLoss(deps, directory, name)
    if (loss === undefined) return undefined
    const { issue, place, last, segments, checkpoint } = loss
    const now = deps.clock.now()
    const suffix = `.damaged-${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}`
    // From the end: file numbers must have no gap whenever this is interrupted.
    for (const { number, path } of segments.toReversed())
      if (number > place.segment) await rename(path, path + suffix)
    const { path } = segmentOf(directory, name, place.segment)
    const held = segments.some(({ number }) => number === place.segment)
    if (held) await link(path, path + suffix)
    const message = `Records from ${place.seq + 1} on are lost: ${issue.reason} (${issue.file}, line ${issue.line})`
    const record = lossRecord(name, message, newId(), now)
    const drafts = new LineDrafts()
    drafts.add([record])
    const { text } = writeLine(deps.mac, place.hash, last, drafts.lines[0]!)
    const fresh = join(directory, `${name}.acknowledging`)
    const retained = held ? await firstBytes(path, place.offset) : Buffer.alloc(0)
    await writeSynced(fresh, Buffer.concat([retained, Buffer.from(text)]))
    // The checkpoint is valid until here: without it the files after it would be no chain.
    if (checkpoint)
      await rename(join(directory, name + CHECKPOINT), join(directory, name + CHECKPOINT + suffix))
    await rename(fresh, path)
    await syncPath(directory)
    return [...segments.map(({ file }) => file), ...(checkpoint ? [name + CHECKPOINT] : [])].map(
      (file) => file + suffix,
    )
  } finally {
    unlock()
  }
}
