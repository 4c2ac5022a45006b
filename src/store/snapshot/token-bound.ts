import { tokenEntry } from '../token-bindings.ts'

/** `records`, and the tables that refer to it. */
const RECORD_TABLES: readonly string[] = ['records', 'record_macs', 'record_indexes', 'record_lookups']

const { collection: TOKENS } = tokenEntry({ tenant_id: '', token_id: '' }, 0)

/** SQL clause, of both engines, for the rows of a table that belong to no record that is bound to a token. */
export const withoutTokenBound = (table: string): string =>
  RECORD_TABLES.includes(table)
    ? ` where not exists (select 1 from record_indexes as bound where bound.seq = ${table}.seq and bound.collection = '${TOKENS}')`
    : ''
