import { sql } from 'kysely'
import { type Migration, raw } from './migration.ts'

/** `LEVELS` of tokens/times.ts when this step was made. */
const LEVELS = [100, 100_000, 100_000_000] as const

const EVENTS = ['created', 'modified'] as const

/**
 * Totals of searches by sums instead of rows: tokens counted in buckets of the time of their creation and of their last
 * change, and by values that many of them have; logs of an entity that has many of them in buckets of its own.
 */
export const totals: Migration = {
  version: 5,
  name: 'totals',
  up: (db, { text, integer, clustered }) => [
    db.schema
      .createTable('token_times')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('event', text, (c) => c.notNull())
      .addColumn('level', integer, (c) => c.notNull())
      .addColumn('bucket', integer, (c) => c.notNull())
      .addColumn('container', text, (c) => c.notNull())
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('count', integer, (c) => c.notNull())
      .addColumn('first_seq', integer, (c) => c.notNull())
      .addColumn('last_seq', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('token_times_pk', [
        'tenant_id',
        'event',
        'level',
        'bucket',
        'container',
        'type',
      ])
      .modifyEnd(clustered),
    ...EVENTS.flatMap((event) =>
      LEVELS.map((width, level) => {
        const at = sql.ref(`${event}_at`)
        return raw(
          db,
          sql`insert into token_times (tenant_id, event, level, bucket, container, type, count, first_seq, last_seq)
            select tenant_id, ${sql.lit(event)}, ${sql.lit(level)}, ${at} / ${sql.lit(width)}, container, type,
              count(*), min(seq), max(seq)
            from tokens where ${at} is not null group by tenant_id, ${at} / ${sql.lit(width)}, container, type`,
        )
      }),
    ),

    db.schema
      .createTable('token_tallies')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('entry', text, (c) => c.notNull())
      .addColumn('container', text, (c) => c.notNull())
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('count', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('token_tallies_pk', ['tenant_id', 'entry', 'container', 'type'])
      .modifyEnd(clustered),

    db.schema.createIndex('tokens_created_by').on('tokens').columns(['tenant_id', 'created_by', 'seq']),
    db.schema
      .createIndex('tokens_modified_by')
      .on('tokens')
      .columns(['tenant_id', 'modified_by', 'seq'])
      .where('modified_by', 'is not', null),
    db.schema
      .createIndex('tokens_modified')
      .on('tokens')
      .columns(['tenant_id', 'modified_at'])
      .where('modified_at', 'is not', null),

    db.schema.alterTable('log_counts').renameTo('log_counts_before'),
    db.schema
      .createTable('log_counts')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('level', integer, (c) => c.notNull())
      .addColumn('entity_id', text, (c) => c.notNull())
      .addColumn('bucket', integer, (c) => c.notNull())
      .addColumn('entity_type', text, (c) => c.notNull())
      .addColumn('count', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('log_counts_by_entity', [
        'tenant_id',
        'level',
        'entity_id',
        'bucket',
        'entity_type',
      ])
      .modifyEnd(clustered),
    raw(
      db,
      sql`insert into log_counts (tenant_id, level, entity_id, bucket, entity_type, count)
        select tenant_id, level, '', bucket, entity_type, count from log_counts_before`,
    ),
    db.schema.dropTable('log_counts_before'),
  ],
}
