import { disclosure } from './disclosure.ts'
import { egressOnly } from './egress-only.ts'
import { entityRuns } from './entity-runs.ts'
import { idempotency } from './first/idempotency.ts'
import { logs } from './first/logs.ts'
import { records } from './first/records.ts'
import { tenants } from './first/tenants.ts'
import { tokens } from './first/tokens.ts'
import { labels } from './labels.ts'
import type { Migration } from './migration.ts'
import { tasks } from './tasks.ts'

/** All migrations, in order. Version 1 was that of 0.1.0 and of builds before the first release, with other tables. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'unreadable', up: () => [] },
  {
    version: 2,
    name: 'first',
    up: (...to) => [tenants, tokens, records, logs, idempotency].flatMap((tables) => tables(...to)),
  },
  { version: 3, name: 'egress-only', up: egressOnly },
  { version: 4, name: 'disclosure', up: disclosure },
  { version: 5, name: 'tasks', up: tasks },
  { version: 6, name: 'labels', up: labels },
  { version: 7, name: 'entity-runs', up: entityRuns },
]

/** Oldest schema version that this program migrates. */
export const FIRST_VERSION = 2

/** Schema version that this program reads and writes. */
export const SCHEMA_VERSION = migrations.length
