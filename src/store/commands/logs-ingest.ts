import { createLogCounts } from '../logs/counts.ts'
import { insertLog, movePosition } from '../logs/statements.ts'
import type { Session } from '../session.ts'
import type { LogRow } from '../types.ts'

/** Rows, what is counted of them, and the positions of their journals, together. */
export const ingestLogs = async (
  session: Session,
  { rows }: { readonly rows: readonly LogRow[] },
): Promise<void> => {
  // Which entities are busy is decided, and acted upon, by one ingest at a time.
  await session.lock('logs.ingest')
  const last = new Map<string, LogRow>()
  const counts = createLogCounts(session)
  for (const row of rows) {
    if ((await session.run(insertLog, row)) > 0) await counts.add(row)
    if (row.journal_seq > (last.get(row.journal)?.journal_seq ?? -1)) last.set(row.journal, row)
  }
  await counts.write()
  for (const { journal, journal_seq: seq, hash } of last.values())
    await session.run(movePosition, { journal, seq, hash })
}
