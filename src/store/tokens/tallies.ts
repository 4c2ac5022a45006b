import { type RawBuilder, sql } from 'kysely'
import type { TokenTalliesTable } from '../schema.ts'
import type { Session } from '../session.ts'
import { serviceStatement, statement } from '../statement.ts'
import type { SearchNode, TokenRow } from '../types.ts'
import { type EntryNode, type LookedUp, matches } from './predicate.ts'
import { buffer } from './row.ts'

/** A value that tokens may have in common. */
type ValueNode = Extract<EntryNode, { kind: 'term' | 'metadata' | 'equals' }>

/** The name of a value in `token_tallies`; undefined for what has none. Keys of metadata hold no `=`. */
export const entryOf = (node: SearchNode): string | undefined => {
  if (node.kind === 'term') return `term ${buffer(node.term).toString('hex')}`
  if (node.kind === 'metadata') return `metadata ${node.key}=${node.value}`
  if (node.kind === 'equals' && (node.field === 'created_by' || node.field === 'modified_by'))
    return `${node.field} ${node.value}`
  return undefined
}

/** The value of such a name. */
export const nodeOf = (entry: string): ValueNode => {
  const blank = entry.indexOf(' ')
  const [kind, text] = [entry.slice(0, blank), entry.slice(blank + 1)]
  if (kind === 'term') return { kind, term: Buffer.from(text, 'hex') }
  if (kind === 'created_by' || kind === 'modified_by') return { kind: 'equals', field: kind, value: text }
  const equals = text.indexOf('=')
  return { kind: 'metadata', key: text.slice(0, equals), value: text.slice(equals + 1) }
}

export interface Valued extends Pick<TokenRow, 'created_by' | 'modified_by' | 'metadata'> {
  readonly terms: readonly Uint8Array[]
}

export const valuesOf = ({ created_by, modified_by, metadata, terms }: Valued): readonly ValueNode[] => [
  { kind: 'equals', field: 'created_by', value: created_by },
  ...(modified_by === null ? [] : [{ kind: 'equals', field: 'modified_by', value: modified_by } as const]),
  ...Object.entries(metadata ?? {}).map(([key, value]) => ({ kind: 'metadata', key, value }) as const),
  ...terms.map((term) => ({ kind: 'term', term: buffer(term) }) as const),
]

const MOVED = { tenant_id: 'text', entry: 'text', container: 'text', type: 'text', count: 'bigint' } as const

const named = (values: readonly RawBuilder<unknown>[], names: readonly string[]) =>
  sql.join(values.map((value, at) => sql`${value} as ${sql.ref(names[at] as string)}`))

/** Adds to the tally of a value that has one, in whichever group. */
export const addTally = statement<TokenTalliesTable>(({ builder, each }, slot) =>
  builder
    .insertInto('token_tallies')
    .columns(['tenant_id', 'entry', 'container', 'type', 'count'])
    .expression(
      sql`select * from (select ${named(each(slot, MOVED), Object.keys(MOVED))}) as moved
        where exists (select 1 from token_tallies as known where known.tenant_id = moved.tenant_id and known.entry = moved.entry)`,
    )
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'entry', 'container', 'type'])
        .doUpdateSet((eb) => ({ count: eb('token_tallies.count', '+', eb.ref('excluded.count')) })),
    ),
)

const isTallied = statement<{ tenant_id: string; entry: string }, { entry: string }>(({ builder }, slot) =>
  builder
    .selectFrom('token_tallies')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('entry', '=', slot('entry'))
    .limit(sql.lit(1))
    .select('entry'),
)

/** Those of the nodes whose values have tallies. */
export const common = async (
  session: Session,
  tenant_id: string,
  nodes: readonly SearchNode[],
): Promise<ReadonlySet<SearchNode>> => {
  const found = new Set<SearchNode>()
  for (const node of nodes) {
    const entry = entryOf(node)
    if (entry !== undefined && (await session.get(isTallied, { tenant_id, entry }))) found.add(node)
  }
  return found
}

/** Whether at least so many tokens have the value. */
export const isShared = async (
  session: Session,
  tenantId: string,
  node: LookedUp,
  tokens: number,
): Promise<boolean> => {
  const some = sql`${matches(tenantId, node)} limit ${tokens}`
  const [row] = await session.search(
    session.dialect.builder
      .selectFrom(sql<{ seq: number }>`(${some})`.as('found'))
      .select(sql<number>`count(*)`.as('count')),
    tenantId,
  )
  return Number(row?.count ?? 0) >= tokens
}

/**
 * Held, shared, by each command that adds, changes or removes tokens, from before its first statement, and by one alone
 * while values begin or cease to be counted, or tokens become a segment: so each change of a token is either seen by the
 * count or finds the tally, and no token comes later with a number that lies in a segment. (SQLite's writers are one after
 * the other.) It leaves the tables themselves to vacuum.
 */
export const TALLIES_LOCK = 'tallies'

/** Counts the tokens that have the value, once for all: under the whole of `TALLIES_LOCK`. */
export const startTally = async (session: Session, tenantId: string, node: ValueNode): Promise<void> => {
  const entry = entryOf(node)
  await session.search(
    session.dialect.builder
      .insertInto('token_tallies')
      .columns(['tenant_id', 'entry', 'container', 'type', 'count'])
      .expression(
        sql`select tokens.tenant_id, cast(${entry} as text), container, type, count(*)
          from (${matches(tenantId, node)}) as found cross join tokens
          where tokens.seq = found.seq group by tokens.tenant_id, container, type`,
      )
      .returning('count'),
    tenantId,
  )
}

export const emptyTally = serviceStatement<object, { entry: string }>(({ builder }) =>
  builder.selectFrom('token_tallies').where('count', '=', 0).limit(sql.lit(1)).select('entry'),
)

/** Values that no token has any more need no tally. */
export const dropEmptyTallies = serviceStatement<object>(({ builder }) =>
  builder.deleteFrom('token_tallies').where('count', '=', 0),
)
