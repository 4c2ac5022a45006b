import type { Migration } from './migration.ts'

/** Rows of logs hold all that their hash covers, so that the chain can be verified from the rows alone. */
export const logsToken: Migration = {
  version: 8,
  name: 'logs-token',
  up: (db, { integer }) => [db.schema.alterTable('logs').addColumn('token_seq', integer)],
}
