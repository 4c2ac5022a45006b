import type { Migration } from './migration.ts'

/** The logs of one entity are counted, and passed over, without a look at their rows, also where a type is asked for. */
export const logsOfEntity: Migration = {
  version: 4,
  name: 'logs-of-entity',
  up: ({ schema }) => [
    schema.dropIndex('logs_entity'),
    schema
      .createIndex('logs_entity')
      .on('logs')
      .columns(['tenant_id', 'entity_id', 'created_at', 'seq', 'entity_type']),
  ],
}
