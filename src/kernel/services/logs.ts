import { readCursor, writeCursor } from '../../common/cursor.ts'
import { invalid } from '../../common/errors.ts'
import { parseJson } from '../../common/parse-json.ts'
import type { Keys } from '../../keys/types.ts'
import type { LogEntry, Logs } from '../../sdk/index.ts'
import type { LogListQuery, LogListRow, LogStore } from '../../store/logs/types.ts'

/** Rows of a page (completions §3). */
export const MAX_SIZE = 1_000

interface LogsDeps {
  readonly logs: LogStore
  readonly keys: Pick<Keys, 'tenant'>
  /** Resolves when all records from before the call are in the store. */
  readonly ingested: () => Promise<unknown>
}

/** A record for plugins. */
export const entryOf = ({ seq, surfaces, disclosure, labels, ...entry }: LogListRow): LogEntry => ({
  position: seq,
  ...entry,
  ...(surfaces === null ? {} : { surfaces: surfaces.split('\n') }),
  ...(disclosure === null ? {} : { disclosure }),
  ...(labels === null ? {} : { labels: parseJson(labels) as Readonly<Record<string, string>> }),
})

/** The audit log, walked by key in both kinds of list. */
export const createLogs = ({ logs, keys, ingested }: LogsDeps): Logs => {
  return {
    list: async (tenantId, filter, page) => {
      if (!Number.isInteger(page.size) || page.size < 1 || page.size > MAX_SIZE)
        throw invalid({ size: [`must be an integer from 1 to ${MAX_SIZE}`] })
      if (page.kind === 'offset' && (!Number.isInteger(page.page) || page.page < 1))
        throw invalid({ page: ['must be an integer from 1'] })
      const place = { tenantId, list: 'logs' }
      const [created_at, seq] =
        page.kind === 'cursor' && page.start !== undefined ? await readCursor(keys, place, page.start) : []
      await ingested()
      const query: LogListQuery = {
        tenantId,
        ...filter,
        size: page.size + 1,
        ...(created_at === undefined || seq === undefined ? {} : { after: { created_at, seq } }),
        ...(page.kind === 'offset' ? { offset: Math.min((page.page - 1) * page.size, 2 ** 50) } : {}),
      }
      const total = page.kind === 'cursor' ? undefined : await logs.count({ tenantId, ...filter })
      const fetched = await logs.list(query)
      const rows = fetched.slice(0, page.size)
      const data = rows.map(entryOf)
      const last = rows.at(-1)
      if (fetched.length <= page.size || last === undefined) return { data, total }
      const position = [last.created_at, last.seq]
      return { data, total, next: writeCursor(await keys.tenant(tenantId), place, position) }
    },
  }
}
