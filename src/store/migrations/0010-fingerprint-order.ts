import type { Migration } from './migration.ts'

/** The oldest token of a fingerprint is the first of its index entries: PostgreSQL orders equal ones by where rows lie. */
export const fingerprintOrder: Migration = {
  version: 10,
  name: 'fingerprint-order',
  up: ({ schema }) => [
    schema.dropIndex('tokens_fingerprint'),
    schema
      .createIndex('tokens_fingerprint')
      .on('tokens')
      .columns(['tenant_id', 'fingerprint', 'container', 'seq'])
      .where('fingerprint', 'is not', null),
  ],
}
