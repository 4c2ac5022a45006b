import { readdir } from 'node:fs/promises'
import type { LogStore } from '../store/types.ts'
import type { ChainError } from './chain-reader.ts'
import { CHECKPOINT, type Checkpoint } from './checkpoint.ts'
import type { ChainLine, Mac } from './line.ts'
import { readRetainedChain } from './retained-chain.ts'
import { JOURNAL_NAME, listSegments } from './segments.ts'
import { walk } from './verify-chain.ts'

export interface VerifyDeps {
  readonly mac: Mac
  /** The store's memory of the journals: without it a cut at the end of a journal cannot be seen. */
  readonly logs?: LogStore
  /** Which of the journals that the store remembers belong to the directory. Default: all. */
  readonly own?: (name: string) => boolean
}

export interface JournalReport {
  readonly name: string
  /** Sequence number of the last record that verifies, up to the first issue. */
  readonly records: number
  /** Records by which operators accepted losses; absent when there are none. */
  readonly accepted?: readonly ChainLine[]
  /** What was removed, because the store has it, and when. */
  readonly removed?: Checkpoint
  readonly issue?: ChainError
}

export interface AuditReport {
  readonly ok: boolean
  readonly journals: readonly JournalReport[]
}

/** Journals with files, with a lock or a checkpoint (so they had files once), and those the store remembers. */
export const journalNames = async (directory: string, deps: VerifyDeps): Promise<readonly string[]> => {
  const names = new Set((await listSegments(directory)).keys())
  const files = await readdir(directory).catch((): string[] => [])
  for (const file of files) {
    for (const ending of ['.lock', CHECKPOINT]) {
      const name = file.endsWith(ending) ? file.slice(0, -ending.length) : ''
      if (JOURNAL_NAME.test(name)) names.add(name)
    }
  }
  for (const name of (await deps.logs?.journals()) ?? []) if (deps.own?.(name) ?? true) names.add(name)
  return [...names].sort()
}

/**
 * Verifies every journal of a directory (docs/security-model.md, "Audit before disclosure"): each line's hash over the one before, sequence numbers, files
 * without a gap, and that what the store ingested is still there. Finds any edit, insertion, deletion and reordering;
 * a cut at the end as far as the store has the records (ingest lags by at most a fifth of a second). Journals may be
 * written meanwhile. Issues are reported with the first place of each journal, losses that an operator has accepted
 * are told; only failures to read reject.
 */
export const verifyJournals = async (deps: VerifyDeps, directory: string): Promise<AuditReport> => {
  const journals: JournalReport[] = []
  for (const name of await journalNames(directory, deps)) {
    const position = await deps.logs?.position(name)
    const retained = await readRetainedChain(deps.mac, directory, name)
    const { place, accepted, issue } = await walk(deps.mac, name, retained, position)
    journals.push({
      name,
      records: place.seq,
      ...(accepted.length === 0 ? {} : { accepted }),
      ...(retained.checkpoint === undefined ? {} : { removed: retained.checkpoint }),
      ...(issue === undefined ? {} : { issue }),
    })
  }
  return { ok: journals.every(({ issue }) => issue === undefined), journals }
}
