import type { Schema } from '../schema.ts'
import type { TenantRow } from './types.ts'

/** Converts a stored tenant. */
export const toTenantRow = (row: Schema['tenants']): TenantRow => ({
  ...row,
  settings: JSON.parse(row.settings) as Record<string, string>,
})
