import { idempotency } from './first/idempotency.ts'
import { logs } from './first/logs.ts'
import { records } from './first/records.ts'
import { tenants } from './first/tenants.ts'
import { tokens } from './first/tokens.ts'
import type { Migration } from './migration.ts'

/** All migrations, in order. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'first',
    up: (...to) => [tenants, tokens, records, logs, idempotency].flatMap((tables) => tables(...to)),
  },
]

/** Schema version that this program reads and writes. */
export const SCHEMA_VERSION = migrations.length
