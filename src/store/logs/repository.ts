import type { Session } from '../session.ts'
import { createTotals } from '../totals.ts'
import type { Writer } from '../writer.ts'
import { firstLines } from './first-lines.ts'
import { ingestLogs } from './ingest.ts'
import { countLogs, listLogs } from './list.ts'
import {
  firstAfter,
  journalNames,
  logsAfter,
  logsOfTenant,
  nextRowJournal,
  positionOf,
  rowsOfJournal,
  type StoredLog,
} from './statements.ts'
import type { LogRow, LogStore } from './types.ts'

/** Rows of one write on SQLite, about: under load calls of a vault wait for it, 1 to 2 ms. */
const SLICE = 100

const toLogRow = ({ token_seq, surfaces, disclosure, labels, ...row }: StoredLog): LogRow => ({
  ...row,
  ...(token_seq === null ? {} : { token_seq }),
  ...(surfaces === null ? {} : { surfaces }),
  ...(disclosure === null ? {} : { disclosure }),
  ...(labels === null ? {} : { labels }),
})

export const createLogStore = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): LogStore => {
  const totals = createTotals()
  return {
    ingest: async (rows) => {
      for (let rest = rows; rest.length > 0; ) {
        const slice = session.dialect.engine === 'sqlite' ? firstLines(rest, SLICE) : rest
        const done = await writer.write(ingestLogs, { rows: slice }, slice.length * 500)
        if ('journal' in done) return done
        rest = rest.slice(done.rows)
      }
      return undefined
    },
    position: async (journal) => session.get(positionOf, { journal }),
    journals: async () => (await session.all(journalNames, {})).map(({ journal }) => journal),
    rows: async (journal, after, limit) =>
      (await session.all(rowsOfJournal, { journal, after, limit })).map(toLogRow),
    rowJournals: async () => {
      const names: string[] = []
      for (;;) {
        const row = await session.get(nextRowJournal, { after: names.at(-1) ?? '' })
        if (typeof row?.journal !== 'string') return names
        names.push(row.journal)
      }
    },
    after: async (seq) => session.all(logsAfter, { seq }),
    createdAfter: async (seq) => (await session.get(firstAfter, { seq }))?.created_at,
    list: (query) => listLogs(session, query),
    count: (filter) => totals.of(filter, () => countLogs(session, filter)),
    find: async (tenantId, entityId) =>
      (await session.all(logsOfTenant, { tenant_id: tenantId }))
        .filter(({ entity_id }) => entityId === undefined || entity_id === entityId)
        .map(toLogRow),
  }
}
