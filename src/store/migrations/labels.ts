import type { Statements } from './migration.ts'

/** Labels that checks of plugins gave a proxied call, as a JSON object. */
export const labels: Statements = (db, { text }) => [db.schema.alterTable('logs').addColumn('labels', text)]
