import { createLogCounts } from '../logs/counts.ts'
import { insertLog, movePosition, presentLogs } from '../logs/statements.ts'
import type { Session } from '../session.ts'
import type { LogRow } from '../types.ts'

/** The records of one journal that are not in the store yet, each once. */
const absent = async (session: Session, rows: readonly LogRow[]): Promise<readonly LogRow[]> => {
  const bySeq = new Map(rows.map((row) => [row.journal_seq, row]))
  const { journal } = rows[0] as LogRow
  const seqs = [...bySeq.keys()].sort((a, b) => a - b)
  const range = { journal, first: seqs[0] as number, last: seqs.at(-1) as number }
  for (const { journal_seq } of await session.all(presentLogs, range)) bySeq.delete(journal_seq)
  return [...bySeq.values()]
}

/** Rows, what is counted of them, and the positions of their journals, together. */
export const ingestLogs = async (
  session: Session,
  { rows }: { readonly rows: readonly LogRow[] },
): Promise<void> => {
  // What is present, and which entities are busy, is decided and acted upon by one ingest at a time.
  await session.lock('logs.ingest')
  const counts = createLogCounts(session)
  for (const [journal, records] of Map.groupBy(rows, (row) => row.journal)) {
    const fresh = await absent(session, records)
    await session.runAll(insertLog, fresh)
    for (const row of fresh) counts.add(row)
    const { journal_seq: seq, hash } = records.reduce((last, row) =>
      row.journal_seq > last.journal_seq ? row : last,
    )
    await session.run(movePosition, { journal, seq, hash })
  }
  await counts.write()
}
