import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Who makes an answer and until when, apart from until when it counts that something was written for it. */
export const answersRunning: Migration = {
  version: 6,
  name: 'answers-running',
  up: (db, { text, integer }) => [
    db.schema
      .alterTable('idempotent_answers')
      .addColumn('running_until', integer, (c) => c.notNull().defaultTo(0)),
    db.schema.alterTable('idempotent_answers').addColumn('process', text, (c) => c.notNull().defaultTo('')),
    db.schema
      .createIndex('idempotent_answers_process')
      .on('idempotent_answers')
      .column('process')
      .where(sql.ref('sealed'), 'is', null),
  ],
}
