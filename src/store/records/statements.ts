import { type SqlBool, sql } from 'kysely'
import type { NumberedRow } from '../dialect.ts'
import type { Schema } from '../schema.ts'
import { openStatement, serviceStatement, statement } from '../statement.ts'

interface RecordKey {
  readonly collection: string
  readonly tenant_id: string
  readonly id: string
}

export interface StoredRecord {
  readonly seq: number
  readonly tenant_id: string
  readonly id: string
  readonly version: number
  readonly body: string
  readonly name: string | null
  readonly expires_at: number | null
  readonly mac: Uint8Array | null
}

/** False for a deleted tenant: nothing finds its records, which wait for the purge. */
export const ofLiveTenant = (tenantId: unknown) =>
  sql<SqlBool>`not exists (select 1 from deleted_tenants where deleted_tenants.id = ${tenantId})`

/** Columns that opening a record needs. Its MAC is a subquery: SQLite would prepare a join again for other values. */
export const RECORD_COLUMNS = [
  'records.seq',
  'records.tenant_id',
  'records.id',
  'records.version',
  'records.body',
  'records.name',
  'records.expires_at',
  sql<Uint8Array | null>`(select mac from record_macs where record_macs.seq = records.seq)`.as('mac'),
] as const

export const recordById = statement<RecordKey, StoredRecord>(({ builder }, slot) =>
  builder
    .selectFrom('records')
    .where('collection', '=', slot('collection'))
    .where('tenant_id', '=', slot('tenant_id'))
    .where('id', '=', slot('id'))
    .where(ofLiveTenant(slot('tenant_id')))
    .select(RECORD_COLUMNS),
)

/** Locked until the end of the command: a concurrent change happens before or waits. */
export const recordByIdForUpdate = statement<RecordKey, Pick<StoredRecord, 'seq' | 'version'>>(
  (dialect, slot) =>
    dialect.forUpdate(
      dialect.builder
        .selectFrom('records')
        .where('collection', '=', slot('collection'))
        .where('tenant_id', '=', slot('tenant_id'))
        .where('id', '=', slot('id'))
        .select(['records.seq', 'records.version']),
    ),
)

/** Across tenants: the value is unique in the collection. */
export const recordByLookup = serviceStatement<
  { collection: string; member: string; value: string },
  StoredRecord
>(({ builder }, slot) =>
  builder
    .selectFrom('records')
    // Not a join: SQLite would prepare it again each time other values are bound.
    .where('records.seq', '=', (eb) =>
      eb
        .selectFrom('record_lookups')
        .where('record_lookups.collection', '=', slot('collection'))
        .where('record_lookups.member', '=', slot('member'))
        .where('record_lookups.value', '=', slot('value'))
        .select('record_lookups.seq'),
    )
    .where(ofLiveTenant(sql.ref('records.tenant_id')))
    .select(RECORD_COLUMNS),
)

/** Across tenants, newest first. */
export const newestRecords = serviceStatement<{ collection: string; limit: number }, StoredRecord>(
  ({ builder }, slot) =>
    builder
      .selectFrom('records')
      .where('collection', '=', slot('collection'))
      .where(ofLiveTenant(sql.ref('records.tenant_id')))
      .orderBy('seq', 'desc')
      .limit(slot('limit'))
      .select(RECORD_COLUMNS),
)

/** Writes no row when the id is in use. */
export const insertRecord = statement<
  RecordKey & { name: string | null; body: string; created_at: number; expires_at: number | null },
  NumberedRow
>(({ builder, numbered }, slot) =>
  numbered(
    builder
      .insertInto('records')
      .values({
        collection: slot('collection'),
        tenant_id: slot('tenant_id'),
        id: slot('id'),
        version: 1,
        name: slot('name'),
        body: slot('body'),
        created_at: slot('created_at'),
        expires_at: slot('expires_at'),
      })
      .onConflict((conflict) => conflict.columns(['collection', 'tenant_id', 'id']).doNothing()),
  ),
)

/** Writes only over the version that was read. */
export const replaceRecord = statement<{
  seq: number
  version: number
  name: string | null
  body: string
  expires_at: number | null
}>(({ builder }, slot) =>
  builder
    .updateTable('records')
    .set((eb) => ({
      version: eb('version', '+', 1),
      name: slot('name'),
      body: slot('body'),
      expires_at: slot('expires_at'),
    }))
    .where('seq', '=', slot('seq'))
    .where('version', '=', slot('version')),
)

/** Its indexes and lookups are deleted by their foreign keys. */
export const deleteRecord = statement<{ seq: number; version: number }>(({ builder }, slot) =>
  builder.deleteFrom('records').where('seq', '=', slot('seq')).where('version', '=', slot('version')),
)

export const insertMac = statement<Schema['record_macs']>(({ builder }, slot) =>
  builder
    .insertInto('record_macs')
    .values({ seq: slot('seq'), tenant_id: slot('tenant_id'), mac: slot('mac') })
    .onConflict((conflict) => conflict.column('seq').doUpdateSet({ mac: slot('mac') })),
)

export const insertIndex = statement<Schema['record_indexes']>(({ builder }, slot) =>
  builder.insertInto('record_indexes').values({
    collection: slot('collection'),
    tenant_id: slot('tenant_id'),
    member: slot('member'),
    value: slot('value'),
    seq: slot('seq'),
  }),
)

/** Index entries of all collections by the hosts that their records bind. */
const HOSTS = '$hosts'

/** Index entry of a record that binds a host. */
export const hostEntry = (
  { collection, tenant_id, host }: { collection: string; tenant_id: string; host: string },
  seq: number,
) => ({ collection: HOSTS, tenant_id, member: collection, value: host, seq })

/** Bound hosts of all tenants, in the order in which their records were created. */
export const boundHosts = serviceStatement<{ limit: number }, { tenant_id: string; value: string }>(
  ({ builder }, slot) =>
    builder
      .selectFrom('record_indexes')
      .where('collection', '=', HOSTS)
      .where(ofLiveTenant(sql.ref('record_indexes.tenant_id')))
      .groupBy(['tenant_id', 'value'])
      .orderBy((eb) => eb.fn.min('seq'))
      .orderBy('value')
      .limit(slot('limit'))
      .select(['tenant_id', 'value']),
)

/** Lookups of all collections by the origins that their records allow. */
const ORIGINS = '$origins'

/** Lookup of a record that allows an origin. A blank, which no origin has, makes it unique and ends the origin. */
export const originEntry = (origin: string, seq: number) => ({
  collection: ORIGINS,
  member: '',
  value: `${origin} ${seq}`,
  seq,
})

/** Values from `originEntry` of an origin: `!` is the character behind the blank. */
export const originRange = (origin: string) => ({ from: `${origin} `, to: `${origin}!` })

/** Records of all tenants whose values lie in the range, at most one. */
export const recordByOrigin = serviceStatement<ReturnType<typeof originRange>, { seq: number }>(
  ({ builder }, slot) =>
    builder
      .selectFrom('record_lookups')
      .where('collection', '=', ORIGINS)
      .where('member', '=', '')
      .where('value', '>=', slot('from'))
      .where('value', '<', slot('to'))
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom('records')
            .whereRef('records.seq', '=', 'record_lookups.seq')
            .where(ofLiveTenant(sql.ref('records.tenant_id')))
            .select('records.seq'),
        ),
      )
      .limit(1)
      .select('seq'),
)

export const deleteIndexes = statement<{ seq: number; collection: string }>(({ builder }, slot) =>
  builder
    .deleteFrom('record_indexes')
    .where('seq', '=', slot('seq'))
    .where('collection', 'in', [slot('collection'), sql.lit(HOSTS)]),
)

/** Writes no row when the value is in use. */
export const insertLookup = openStatement<Schema['record_lookups']>(({ builder }, slot) =>
  builder
    .insertInto('record_lookups')
    .values({
      collection: slot('collection'),
      member: slot('member'),
      value: slot('value'),
      seq: slot('seq'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)

/** A value of a record of a deleted tenant. */
export const deleteObsoleteLookup = serviceStatement<Omit<Schema['record_lookups'], 'seq'>>(
  ({ builder }, slot) =>
    builder
      .deleteFrom('record_lookups')
      .where('collection', '=', slot('collection'))
      .where('member', '=', slot('member'))
      .where('value', '=', slot('value'))
      .where('seq', 'in', (eb) =>
        eb
          .selectFrom('records')
          .whereRef('records.seq', '=', 'record_lookups.seq')
          .where(eb.not(ofLiveTenant(sql.ref('records.tenant_id'))))
          .select('records.seq'),
      ),
)

export const deleteLookups = openStatement<{ seq: number }>(({ builder }, slot) =>
  builder.deleteFrom('record_lookups').where('seq', '=', slot('seq')),
)
