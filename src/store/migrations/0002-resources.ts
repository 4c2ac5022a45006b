import { sql } from 'kysely'
import { type Migration, raw } from './migration.ts'

/** Those of `logs/levels.ts` when this step was made. */
const LEVELS = [4_000, 256_000, 16_384_000, 1_048_576_000] as const

/**
 * Token associations, logs that are listed at any depth for the price of a page, monthly active tokens, idempotent
 * answers, records that end by themselves, and the names of deleted tenants. Longer than a file should be by being one step.
 */
export const resources: Migration = {
  version: 2,
  name: 'resources',
  up: (db, { text, integer, bytes, clustered }) => [
    db.schema
      .createTable('token_associations')
      .addColumn('parent_seq', integer, (c) => c.notNull().references('tokens.seq').onDelete('cascade'))
      .addColumn('child_seq', integer, (c) => c.notNull().references('tokens.seq').onDelete('cascade'))
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addPrimaryKeyConstraint('token_associations_pk', ['parent_seq', 'child_seq'])
      .modifyEnd(clustered),
    db.schema.createIndex('token_associations_child').on('token_associations').column('child_seq'),

    db.schema.dropIndex('logs_newest'),
    db.schema.dropIndex('logs_entity'),
    db.schema.dropIndex('logs_time'),
    db.schema.createIndex('logs_newest').on('logs').columns(['tenant_id', 'created_at', 'seq']),
    db.schema.createIndex('logs_type').on('logs').columns(['tenant_id', 'entity_type', 'created_at', 'seq']),
    db.schema.createIndex('logs_entity').on('logs').columns(['tenant_id', 'entity_id', 'created_at', 'seq']),
    db.schema
      .createTable('log_counts')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('level', integer, (c) => c.notNull())
      .addColumn('bucket', integer, (c) => c.notNull())
      .addColumn('entity_type', text, (c) => c.notNull())
      .addColumn('count', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('log_counts_pk', ['tenant_id', 'level', 'bucket', 'entity_type'])
      .modifyEnd(clustered),
    ...LEVELS.map((width, level) =>
      raw(
        db,
        sql`insert into log_counts (tenant_id, level, bucket, entity_type, count)
          select tenant_id, ${sql.lit(level)}, created_at / ${sql.lit(width)}, entity_type, count(*)
          from logs group by tenant_id, created_at / ${sql.lit(width)}, entity_type`,
      ),
    ),

    db.schema
      .createTable('active_tokens')
      .addColumn('month', integer, (c) => c.notNull())
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('seq', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('active_tokens_pk', ['month', 'tenant_id', 'seq'])
      .modifyEnd(clustered),
    db.schema
      .createTable('active_counts')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('month', integer, (c) => c.notNull())
      .addColumn('count', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('active_counts_pk', ['tenant_id', 'month'])
      .modifyEnd(clustered),

    db.schema
      .createTable('idempotent_answers')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('key', bytes, (c) => c.notNull())
      .addColumn('operation', text, (c) => c.notNull())
      .addColumn('holder', text, (c) => c.notNull())
      .addColumn('sealed', bytes)
      .addColumn('expires_at', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('idempotent_answers_pk', ['tenant_id', 'key'])
      .modifyEnd(clustered),
    db.schema.createIndex('idempotent_answers_expiry').on('idempotent_answers').column('expires_at'),

    db.schema.alterTable('records').addColumn('expires_at', integer),
    db.schema
      .createIndex('records_expiry')
      .on('records')
      .column('expires_at')
      .where('expires_at', 'is not', null),

    db.schema
      .createTable('deleted_tenants')
      .addColumn('id', text, (c) => c.primaryKey().notNull())
      .addColumn('deleted_at', integer, (c) => c.notNull())
      .addColumn('emptied_at', integer)
      .modifyEnd(clustered),
  ],
}
