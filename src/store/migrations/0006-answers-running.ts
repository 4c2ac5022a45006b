import type { Migration } from './migration.ts'

/** Until when an answer is being made, apart from until when it counts that something was written for it. */
export const answersRunning: Migration = {
  version: 6,
  name: 'answers-running',
  up: (db, { integer }) => [
    db.schema
      .alterTable('idempotent_answers')
      .addColumn('running_until', integer, (c) => c.notNull().defaultTo(0)),
  ],
}
