import { sql } from 'kysely'
import { RUN } from '../logs/entity-runs.ts'
import type { Statements } from './migration.ts'

/**
 * SQLite writes entire pages: the index of logs by entity starts with a run of consecutive logs, so that those of one
 * write are on few pages, whatever their entities are. PostgreSQL writes rows, and keeps the plain index.
 */
export const entityRuns: Statements = ({ schema }, { engine }) =>
  engine === 'postgres'
    ? []
    : [
        schema.dropIndex('logs_entity'),
        schema
          .createIndex('logs_entity')
          .on('logs')
          .expression(sql`${RUN}, tenant_id, entity_id, created_at, seq, entity_type`),
      ]
