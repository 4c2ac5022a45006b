import { sql } from 'kysely'
import type { TokenTalliesTable } from '../schema.ts'
import type { Session } from '../session.ts'
import { serviceStatement, statement } from '../statement.ts'
import type { SearchNode, TokenRow } from '../types.ts'
import { type EntryNode, matches } from './predicate.ts'
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

export interface Valued extends Pick<TokenRow, 'created_by' | 'modified_by' | 'metadata'> {
  readonly terms: readonly Uint8Array[]
}

export const valuesOf = ({ created_by, modified_by, metadata, terms }: Valued): readonly ValueNode[] => [
  { kind: 'equals', field: 'created_by', value: created_by },
  ...(modified_by === null ? [] : [{ kind: 'equals', field: 'modified_by', value: modified_by } as const]),
  ...Object.entries(metadata ?? {}).map(([key, value]) => ({ kind: 'metadata', key, value }) as const),
  ...terms.map((term) => ({ kind: 'term', term: buffer(term) }) as const),
]

/** Adds to the tally of a value that has one, in whichever group. */
export const addTally = statement<TokenTalliesTable>(({ builder }, slot) =>
  builder
    .insertInto('token_tallies')
    .columns(['tenant_id', 'entry', 'container', 'type', 'count'])
    .expression(
      // An engine that knows types beforehand has no other hint of these.
      sql`select cast(${slot('tenant_id')} as text), cast(${slot('entry')} as text), cast(${slot('container')} as text),
          cast(${slot('type')} as text), cast(${slot('count')} as bigint)
        where exists (select 1 from token_tallies where tenant_id = ${slot('tenant_id')} and entry = ${slot('entry')})`,
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
  node: ValueNode,
  tokens: number,
): Promise<boolean> => {
  const some = sql`${matches(tenantId, node)} limit ${tokens}`
  const [row] = await session.query(
    session.dialect.builder
      .selectFrom(sql<{ seq: number }>`(${some})`.as('found'))
      .select(sql<number>`count(*)`.as('count')),
    tenantId,
  )
  return Number(row?.count ?? 0) >= tokens
}

/**
 * Held, shared, by whoever moves tallies, and by one alone while values begin or cease to be counted: so each change of a
 * token is either seen by the count or finds the tally. It leaves the table itself to vacuum.
 */
export const TALLIES_LOCK = 'tallies'

/** Counts the tokens that have the value, once for all: under the whole of `TALLIES_LOCK`. */
export const startTally = async (session: Session, tenantId: string, node: ValueNode): Promise<void> => {
  const entry = entryOf(node)
  await session.query(
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
