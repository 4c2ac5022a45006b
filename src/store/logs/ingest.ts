import { defineCommand } from '../command.ts'
import type { Session } from '../session.ts'
import { writeActiveTokens } from '../usage/active.ts'
import { firstLines } from './first-lines.ts'
import { insertLog, movePosition, presentLogs } from './statements.ts'
import type { Forked, LogRow } from './types.ts'

/** Rows that SQLite writes before it looks whether a call waits, about: 0.3 ms. */
const STEP = 20

/** Rows from the front that are in the store now. */
interface Ingested {
  readonly rows: number
}

interface Sorted {
  /** Records of one journal that the store does not have yet, each once. */
  readonly fresh: readonly LogRow[]
  /** The first record with another content in the store. */
  readonly fork: LogRow | undefined
}

const sorted = async (session: Session, rows: readonly LogRow[]): Promise<Sorted> => {
  const bySeq = new Map(rows.map((row) => [row.journal_seq, row]))
  const { journal } = rows[0] as LogRow
  const seqs = [...bySeq.keys()].sort((a, b) => a - b)
  const range = { journal, first: seqs[0] as number, last: seqs.at(-1) as number }
  const present = await session.all(presentLogs, range)
  const known = new Map(present.map(({ journal_seq, hash }) => [journal_seq, hash]))
  return {
    fresh: [...bySeq.values()].filter(({ journal_seq }) => !known.has(journal_seq)),
    fork: rows.find(({ journal_seq, hash }) => (known.get(journal_seq) ?? hash) !== hash),
  }
}

/**
 * Writes rows, activity and journal positions in one transaction; a fork writes nothing. It ends early when a call
 * waits, after some rows from the front.
 */
export const ingestLogs = defineCommand({
  name: 'logs.ingest',
  run: async (
    session: Session,
    { rows }: { readonly rows: readonly LogRow[] },
  ): Promise<Forked | Ingested> => {
    // One ingest at a time decides what is present and acts on it.
    await session.lock('logs.ingest')
    const fresh = new Set<LogRow>()
    for (const records of Map.groupBy(rows, (row) => row.journal).values()) {
      const { fresh: some, fork } = await sorted(session, records)
      if (fork !== undefined) return { journal: fork.journal, journal_seq: fork.journal_seq }
      for (const row of some) fresh.add(row)
    }
    let written = 0
    do {
      const rest = rows.slice(written)
      const step = session.dialect.engine === 'sqlite' ? firstLines(rest, STEP) : rest
      const logs = step.filter((row) => fresh.has(row))
      await session.runAll(
        insertLog,
        logs.map((row) => ({ token_seq: null, surfaces: null, disclosure: null, labels: null, ...row })),
      )
      await writeActiveTokens(session, logs)
      written += step.length
    } while (written < rows.length && !session.isAwaited())
    for (const [journal, records] of Map.groupBy(rows.slice(0, written), (row) => row.journal)) {
      const { journal_seq: seq, hash } = records.reduce((last, row) =>
        row.journal_seq > last.journal_seq ? row : last,
      )
      await session.run(movePosition, { journal, seq, hash })
    }
    return { rows: written }
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: false,
  isMaintenance: true,
  movesCounters: false,
  destroysKeys: false,
})
