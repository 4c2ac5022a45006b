import { defineCommand } from '../command.ts'
import type { Session } from '../session.ts'
import { writeActiveTokens } from '../usage/active.ts'
import { insertLog, movePosition, presentLogs } from './statements.ts'
import type { Forked, LogRow } from './types.ts'

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

/** Writes rows, activity and journal positions in one transaction; a fork writes nothing. */
export const ingestLogs = defineCommand({
  name: 'logs.ingest',
  run: async (
    session: Session,
    { rows }: { readonly rows: readonly LogRow[] },
  ): Promise<Forked | undefined> => {
    // One ingest at a time decides what is present and acts on it.
    await session.lock('logs.ingest')
    const journals = Map.groupBy(rows, (row) => row.journal)
    const fresh: LogRow[] = []
    for (const records of journals.values()) {
      const { fresh: some, fork } = await sorted(session, records)
      if (fork !== undefined) return { journal: fork.journal, journal_seq: fork.journal_seq }
      fresh.push(...some)
    }
    await session.runAll(
      insertLog,
      fresh.map((row) => ({ token_seq: null, surfaces: null, disclosure: null, labels: null, ...row })),
    )
    for (const [journal, records] of journals) {
      const { journal_seq: seq, hash } = records.reduce((last, row) =>
        row.journal_seq > last.journal_seq ? row : last,
      )
      await session.run(movePosition, { journal, seq, hash })
    }
    await writeActiveTokens(session, fresh)
    return undefined
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: false,
  isMaintenance: true,
  movesCounters: false,
  destroysKeys: false,
})
