/** The database role of a gateway that holds one tenant (ADR 0148). */
import type { ClientBase } from 'pg'
import { AppError } from '../../common/errors.ts'
import type { Schema } from '../schema.ts'

/** What the role may do to each table; undefined: nothing. */
const GRANTS: Readonly<Record<keyof Schema, string | undefined>> = {
  tenants: 'select, update (has_egress_only)',
  tenant_keys: 'select',
  tenant_macs: 'select',
  tokens: 'select, insert, update, delete',
  token_terms: 'select, insert, update, delete',
  token_metadata: 'select, insert, update, delete',
  token_counts: 'select, insert, update, delete',
  token_associations: 'select, insert, update, delete',
  records: 'select, delete',
  record_indexes: 'select',
  record_lookups: 'select',
  record_macs: 'select',
  changes: 'select, insert, update',
  logs: 'select, insert',
  active_tokens: 'select, insert, update',
  active_counts: 'select, insert, update',
  idempotency_keys: 'select, insert, update, delete',
  idempotency_key_tokens: 'select, insert, update, delete',
  deleted_tenants: 'select',
  journal_positions: 'select, insert, update',
  plugin_tasks: undefined,
  schema_migrations: 'select',
}

/** Tables without data of tenants: the role sees all rows of them. A trigger guards `changes`. */
const SHARED: readonly string[] = ['changes', 'schema_migrations']

/** Tables with a number in each row, which the role may not choose: it has grants for their other columns. */
const NUMBERED: readonly string[] = ['tokens', 'logs']

/** Tables without a `tenant_id`, whose rows belong to tenants all the same. Row-level security is off until then. */
const UNGUARDED = ['record_lookups', 'journal_positions', 'deleted_tenants'] as const

const id = (name: string): string => `"${name.replaceAll('"', '""')}"`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

interface TenantRole {
  readonly tenantId: string
  /** Name of the delegation. */
  readonly name: string
}

/** The role of a delegation. */
export const tenantRoleName = ({ name }: Pick<TenantRole, 'name'>): string => `sidevault_${name}`

/** Condition of rows that the role may see; `written`: of those that it may write. */
const rowsOf = (
  table: string,
  { tenantId, name }: TenantRole,
): { readonly seen: string; readonly written: string } => {
  const tenant = literal(tenantId)
  const journal = `journal ~ ${literal(`^gateway-[0-9]+_${name}-[0-9a-f]{12}$`)}`
  const both = (condition: string) => ({ seen: condition, written: condition })
  if (table === 'tenants' || table === 'deleted_tenants') return both(`id = ${tenant}`)
  if (table === 'journal_positions') return both(journal)
  if (table === 'record_lookups')
    return both(`exists (select from records r where r.seq = record_lookups.seq and r.tenant_id = ${tenant})`)
  const seen = `tenant_id = ${tenant}`
  return { seen, written: table === 'logs' ? `${seen} and ${journal}` : seen }
}

const policiesOf = (table: string, role: TenantRole): readonly string[] => {
  const policy = id(tenantRoleName(role))
  const { seen, written } = rowsOf(table, role)
  return [
    `drop policy if exists ${policy} on ${table};`,
    `create policy ${policy} on ${table} as restrictive to ${policy} using (${seen}) with check (${written});`,
  ]
}

/** Without this, a login could set a counter back, and so hide the revocation of a key from other processes. */
const counterTrigger = (owner: string): readonly string[] => [
  `create or replace function sidevault_counter() returns trigger language plpgsql as
  $$ begin raise insufficient_privilege using message = 'a change counter grows by one'; end $$;`,
  ...(
    [
      ['insert', 'new.version <> 1'],
      ['update', 'new.kind <> old.kind or new.version <> old.version + 1'],
    ] as const
  ).flatMap(([event, condition]) => [
    `drop trigger if exists sidevault_counter_${event} on changes;`,
    `create trigger sidevault_counter_${event} before ${event} on changes for each row
  when (current_user <> ${literal(owner)} and (${condition})) execute function sidevault_counter();`,
  ]),
]

/** Columns of `NUMBERED`, without the number: a login that chose it could occupy those that others' rows get next. */
const numberedColumns = async (client: ClientBase): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await client.query<{ table: string; columns: string }>(
    `select table_name as table, string_agg(column_name, ', ' order by ordinal_position)
        filter (where is_identity = 'NO') as columns
      from information_schema.columns where table_schema = current_schema() and table_name = any($1)
      group by table_name`,
    [NUMBERED],
  )
  return new Map(rows.map(({ table, columns }) => [table, columns]))
}

const placeOf = async (client: ClientBase) =>
  (
    await client.query<{ database: string; schema: string; owner: string }>(
      `select current_database() as database, current_schema() as schema,
        (select tableowner from pg_catalog.pg_tables where schemaname = current_schema() and tablename = 'tenants') as owner`,
    )
  ).rows[0]!

/**
 * SQL that binds the role of a delegation to its tenant. May be run again, as after an upgrade that adds tables. With a
 * `password` it creates the role first.
 */
export const tenantRoleSql = async (
  client: ClientBase,
  role: TenantRole,
  password: string | undefined,
): Promise<readonly string[]> => {
  const { database, schema, owner } = await placeOf(client)
  const name = id(tenantRoleName(role))
  const numbered = await numberedColumns(client)
  const tables = Object.entries(GRANTS).map(([table, grants]) => {
    const columns = numbered.get(table)
    return [
      table,
      columns === undefined ? grants : grants?.replaceAll(/insert|update/g, `$& (${columns})`),
    ] as const
  })
  return [
    'begin;',
    ...(password === undefined
      ? []
      : [
          `create role ${name} login noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls
  password ${literal(password)};`,
        ]),
    `set local search_path to ${id(schema)};`,
    `revoke create on schema ${id(schema)} from public;`,
    `grant connect on database ${id(database)} to ${name};`,
    `grant usage on schema ${id(schema)} to ${name};`,
    `revoke all on all tables in schema ${id(schema)} from ${name};`,
    ...UNGUARDED.flatMap((table) => [
      `alter table ${table} enable row level security;`,
      `drop policy if exists sidevault_all on ${table};`,
      `create policy sidevault_all on ${table} using (true) with check (true);`,
    ]),
    ...tables.flatMap(([table]) =>
      SHARED.includes(table) || table === 'plugin_tasks' ? [] : policiesOf(table, role),
    ),
    ...counterTrigger(owner),
    ...tables.flatMap(([table, grants]) =>
      grants === undefined ? [] : [`grant ${grants} on ${table} to ${name};`],
    ),
    'commit;',
  ]
}

/** SQL that ends the role and its connections. */
export const dropTenantRoleSql = (role: Pick<TenantRole, 'name'>): readonly string[] => {
  const name = tenantRoleName(role)
  return [
    `alter role ${id(name)} nologin;`,
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = ${literal(name)};`,
    `drop owned by ${id(name)};`,
    `drop role ${id(name)};`,
  ]
}

/** Rejects a role that could see rows of another tenant, and one without the grants of this version. */
export const rejectUnbound = async (client: ClientBase): Promise<void> => {
  const { rows } = await client.query<{ reason: string }>(
    `with me as (select oid from pg_catalog.pg_roles where rolname = current_user)
      select 1 as rank, 'member of another role' as reason from me where exists (select from pg_catalog.pg_auth_members where member = me.oid)
      union all
      select 2, 'owner of ' || c.relname from pg_catalog.pg_class c, me
        where c.relnamespace = current_schema()::regnamespace and c.relowner = me.oid
      union all
      select 3, 'no policy for ' || c.relname from pg_catalog.pg_class c, me
        where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and c.relname <> all($1)
          and has_any_column_privilege(c.oid, 'select')
          and not (c.relrowsecurity and exists (select from pg_catalog.pg_policy p
            where p.polrelid = c.oid and not p.polpermissive and me.oid = any(p.polroles)))
      union all
      select 4, 'no grant for ' || c.table_name || '.' || c.column_name from information_schema.columns c
        where c.table_schema = current_schema() and c.table_name = any($2) and c.is_identity = 'NO'
          and not has_column_privilege(c.table_name::regclass, c.column_name, 'insert')
      union all
      select 4, 'no grant for ' || name from unnest($3::text[]) as name
        where not has_any_column_privilege(name::regclass, 'select')
      order by 1, 2 limit 1`,
    [SHARED, NUMBERED, Object.keys(GRANTS).filter((table) => GRANTS[table as keyof Schema] !== undefined)],
  )
  if (rows[0] !== undefined)
    throw new AppError(
      'invalid',
      `The role of SIDEVAULT_STORE is not bound to one tenant (${rows[0].reason}). Use the role of the SQL that "sidevault keys delegate" printed. After an upgrade, run the SQL of "sidevault keys delegations --sql <name>".`,
    )
}
