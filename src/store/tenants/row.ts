import type { StoredColumns } from './statements.ts'
import type { TenantRow } from './types.ts'

/** Converts a stored tenant. */
export const toTenantRow = (row: StoredColumns): TenantRow => ({
  ...row,
  settings: JSON.parse(row.settings) as Record<string, string>,
})
