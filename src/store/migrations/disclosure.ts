import type { Statements } from './migration.ts'

/** What records say was disclosed of a token; null: they do not say, as those of earlier versions. */
export const disclosure: Statements = (db, { text }) => [
  db.schema.alterTable('logs').addColumn('disclosure', text),
]
