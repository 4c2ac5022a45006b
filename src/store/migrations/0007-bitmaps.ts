import type { Migration } from './migration.ts'

/** Totals of searches that combine values which many tokens have: bitmaps of such values over segments of tokens. */
export const bitmaps: Migration = {
  version: 7,
  name: 'bitmaps',
  up: (db, { text, integer, bytes, clustered }) => [
    db.schema
      .createTable('token_segments')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('last_seq', integer, (c) => c.notNull())
      .addColumn('first_seq', integer, (c) => c.notNull())
      .addColumn('first_created_at', integer, (c) => c.notNull())
      .addColumn('last_created_at', integer, (c) => c.notNull())
      .addColumn('seqs', bytes, (c) => c.notNull())
      .addColumn('times', bytes, (c) => c.notNull())
      .addPrimaryKeyConstraint('token_segments_pk', ['tenant_id', 'last_seq'])
      .modifyEnd(clustered),
    db.schema
      .createTable('token_bitmaps')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('entry', text, (c) => c.notNull())
      .addColumn('through', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('token_bitmaps_pk', ['tenant_id', 'entry'])
      .modifyEnd(clustered),
    db.schema
      .createTable('token_bits')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('entry', text, (c) => c.notNull())
      .addColumn('segment', integer, (c) => c.notNull())
      .addColumn('bits', bytes, (c) => c.notNull())
      .addPrimaryKeyConstraint('token_bits_pk', ['tenant_id', 'entry', 'segment'])
      .modifyEnd(clustered),
  ],
}
