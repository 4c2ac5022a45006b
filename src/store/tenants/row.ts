import type { Schema } from '../schema.ts'
import type { TenantRow } from '../types.ts'

/** A tenant as it is stored, as the store answers it. */
export const toTenantRow = (row: Schema['tenants']): TenantRow => ({
  ...row,
  settings: JSON.parse(row.settings) as Record<string, string>,
})
