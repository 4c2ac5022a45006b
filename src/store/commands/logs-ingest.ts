import { insertLog, movePosition } from '../logs/statements.ts'
import type { Session } from '../session.ts'
import type { LogRow } from '../types.ts'

/** Rows and the positions of their journals, together. */
export const ingestLogs = async (
  session: Session,
  { rows }: { readonly rows: readonly LogRow[] },
): Promise<void> => {
  const last = new Map<string, LogRow>()
  for (const row of rows) {
    await session.run(insertLog, row)
    if (row.journal_seq > (last.get(row.journal)?.journal_seq ?? -1)) last.set(row.journal, row)
  }
  for (const { journal, journal_seq: seq, hash } of last.values())
    await session.run(movePosition, { journal, seq, hash })
}
