import { readdir } from 'node:fs/promises'
import type { LogStore } from '../store/logs/types.ts'
import type { ChainError } from './chain-reader.ts'
import { CHECKPOINT, type Checkpoint } from './checkpoint.ts'
import type { ChainLine, Mac } from './line.ts'
import { readRetainedChain } from './retained-chain.ts'
import { JOURNAL_NAME, listSegments } from './segments.ts'
import { verifyChain } from './verify-chain.ts'

interface VerifyDeps {
  readonly mac: Mac
  /** Positions of the journals in the store: without them truncation of a journal cannot be detected. */
  readonly logs?: LogStore
  /** Which journals of the store belong to the directory. Default: all. */
  readonly own?: (name: string) => boolean
}

export interface JournalReport {
  readonly name: string
  /** Sequence number of the last record that verifies, up to the first issue. */
  readonly records: number
  /** Records that acknowledge losses; absent when there are none. */
  readonly acknowledged?: readonly ChainLine[]
  /** End of the part that retention removed, and the time of its removal. */
  readonly removed?: Checkpoint
  readonly issue?: ChainError
}

export interface AuditReport {
  readonly ok: boolean
  readonly journals: readonly JournalReport[]
}

/** Journals with files, a lock or a checkpoint, and those with a position in the store. */
export const journalNames = async (directory: string, deps: VerifyDeps): Promise<readonly string[]> => {
  const names = new Set(listSegments(directory).keys())
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
 * Verifies every journal of a directory (docs/security-model.md, "Audit before disclosure"): the hash of each line over
 * the previous one, sequence numbers, files without a gap, and presence of all ingested records. Finds any edit,
 * insertion, deletion and reordering; truncation as far as the store has the records.
 * Journals may be written concurrently. Reports the first issue of each journal, and acknowledged losses; rejects only
 * when files cannot be read.
 */
export const verifyJournals = async (deps: VerifyDeps, directory: string): Promise<AuditReport> => {
  const journals: JournalReport[] = []
  for (const name of await journalNames(directory, deps)) {
    const position = await deps.logs?.position(name)
    const retained = await readRetainedChain(deps.mac, directory, name)
    const { place, acknowledged, issue } = await verifyChain(deps.mac, name, retained, position)
    journals.push({
      name,
      records: place.seq,
      ...(acknowledged.length === 0 ? {} : { acknowledged }),
      ...(retained.checkpoint === undefined ? {} : { removed: retained.checkpoint }),
      ...(issue === undefined ? {} : { issue }),
    })
  }
  return { ok: journals.every(({ issue }) => issue === undefined), journals }
}
