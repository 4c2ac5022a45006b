import { type AppError, invalid } from '../common/errors.ts'
import type { Keys, SealContext } from '../keys/types.ts'
import type { Logs } from '../sdk/index.ts'
import type { LogListQuery, LogListRow, LogStore } from '../store/types.ts'

/** Rows of a page (completions §3). */
const MAX_SIZE = 1_000
/** Characters of a cursor. */
const MAX_START = 500

export interface LogsDeps {
  readonly logs: LogStore
  readonly keys: Pick<Keys, 'tenant'>
  /** Resolves when everything that was recorded before the call is in the store. */
  readonly ingested: () => Promise<unknown>
}

/** Under a type that no token can have. Sealed, because a position counts the logs of all tenants. */
const bound = (tenantId: string): SealContext => ({
  tenantId,
  tokenId: '',
  type: 'cursor:logs',
  version: 1,
  part: 'sealed',
})

type Position = Pick<LogListRow, 'created_at' | 'seq'>

/** The audit log, walked by key in both kinds of list. */
export const createLogs = ({ logs, keys, ingested }: LogsDeps): Logs => {
  const write = async (tenantId: string, { created_at, seq }: Position): Promise<string> => {
    const position = Buffer.from(JSON.stringify([created_at, seq]))
    return (await keys.tenant(tenantId)).seal(position, bound(tenantId)).toString('base64url')
  }

  const read = async (tenantId: string, cursor: string): Promise<Position> => {
    const refused = (): AppError => invalid({ start: ['must be the "next" of a page of this list'] })
    if (cursor.length > MAX_START || !/^[\w-]+$/.test(cursor)) throw refused()
    const sealed = Buffer.from(cursor, 'base64url')
    const ring = await keys.tenant(tenantId, [sealed])
    try {
      const [created_at, seq] = JSON.parse(ring.open(sealed, bound(tenantId)).toString()) as [number, number]
      return { created_at, seq }
    } catch {
      // Told apart from no other malformed cursor.
      throw refused()
    }
  }

  return {
    list: async (tenantId, filter, page) => {
      if (!Number.isInteger(page.size) || page.size < 1 || page.size > MAX_SIZE)
        throw invalid({ size: [`must be a whole number from 1 to ${MAX_SIZE}`] })
      if (page.kind === 'offset' && (!Number.isInteger(page.page) || page.page < 1))
        throw invalid({ page: ['must be a whole number from 1 on'] })
      const after =
        page.kind === 'cursor' && page.start !== undefined ? await read(tenantId, page.start) : undefined
      await ingested()
      const query: LogListQuery = {
        tenantId,
        ...filter,
        size: page.size + 1,
        ...(after === undefined ? {} : { after }),
        ...(page.kind === 'offset' ? { offset: Math.min((page.page - 1) * page.size, 2 ** 50) } : {}),
      }
      const total = await logs.count({ tenantId, ...filter })
      const found = await logs.list(query)
      const rows = found.slice(0, page.size)
      const last = rows.at(-1)
      return {
        data: rows,
        total,
        ...(found.length > page.size && last ? { next: await write(tenantId, last) } : {}),
      }
    },
  }
}
