import { sql } from 'kysely'
import type { Statements } from './migration.ts'

/** 1: the tenant has, or had, tokens that are `egress_only`; null: it never had one. */
export const egressOnly: Statements = (db, { integer }) => [
  db.schema.alterTable('tenants').addColumn('has_egress_only', integer),
  db
    .updateTable('tenants')
    .set({ has_egress_only: sql.lit(1) })
    .where(sql<boolean>`id in (select tenant_id from tokens where egress like '%"egress_only":true%')`),
]
