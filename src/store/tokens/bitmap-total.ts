import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { SearchNode } from '../types.ts'
import { type Bits, countBits, noBits, setBit, unpackNumbers } from './bits.ts'
import { expired } from './expired.ts'
import { evaluate, type Formula, formulaOf, partsOf } from './formula.ts'
import { isEntry, type ListPlan } from './plan.ts'
import { isGrouped, type LookedUp, matches, searchPredicate } from './predicate.ts'
import { type CountQuery, groupPredicate } from './rows.ts'
import { bitmapsOf, EVERY, groupEntry } from './segments.ts'
import { entryOf, isShared } from './tallies.ts'
import { type TimeRange, timeRangeOf } from './times.ts'

/** Searches of more parts than these are counted by rows. */
const MAX_PARTS = 32
/** Tokens that a value without a bitmap may have, to be looked at one by one. */
const FEW = 1_000
/** Past every number of a token. */
const END = Number.MAX_SAFE_INTEGER

/** A set of tokens that bitmaps tell. */
type Leaf =
  | { readonly kind: 'entry'; readonly entry: string }
  | { readonly kind: 'groups'; readonly groups: RawBuilder<SqlBool> }
  | { readonly kind: 'created'; readonly range: TimeRange }

interface Row {
  /** `NUMBERS`, `PLACES`, or which one. */
  readonly leaf: number
  readonly segment: number
  readonly bits: Uint8Array | null
  readonly total: number | null
}

const NUMBERS = -2
const PLACES = -1

const isLookedUp = (node: SearchNode): node is LookedUp =>
  isEntry(node) ||
  node.kind === 'metadata-range' ||
  (node.kind === 'equals' && (node.field === 'id' || node.field === 'fingerprint'))

/** The search without these of its parts, as if no token met them. */
const without = (node: SearchNode, parts: readonly SearchNode[]): SearchNode => {
  if (parts.includes(node)) return { kind: 'or', nodes: [] }
  if (node.kind === 'and' || node.kind === 'or')
    return { kind: node.kind, nodes: node.nodes.map((child) => without(child, parts)) }
  return node.kind === 'not' ? { kind: 'not', node: without(node.node, parts) } : node
}

interface Asked {
  readonly where: SearchNode
  readonly leaves: readonly Leaf[]
  readonly formula: Formula
  /** Parts that few tokens meet. */
  readonly few: readonly LookedUp[]
}

/** Undefined where bitmaps do not help. */
const ask = async (session: Session, plan: ListPlan, query: CountQuery): Promise<Asked | undefined> => {
  const { tenantId } = query
  const where: SearchNode = { kind: 'and', nodes: plan.rest }
  const parts = partsOf(where)
  if (!plan.visibilityIsGrouped || parts.length > MAX_PARTS) return undefined
  const made = await session.all(bitmapsOf, { tenant_id: tenantId })
  const known = new Set(made.filter(({ through }) => through > 0).map(({ entry }) => entry))
  if (known.size === 0) return undefined

  const context = { dialect: session.dialect, tenantId, ordered: false }
  const nodes: SearchNode[] = []
  const leaves: Leaf[] = []
  const few: LookedUp[] = []
  for (const node of parts) {
    const entry = entryOf(node)
    const range = timeRangeOf(node)
    const leaf: Leaf | undefined = isGrouped(node)
      ? { kind: 'groups', groups: searchPredicate(context, node) }
      : entry !== undefined && known.has(entry)
        ? { kind: 'entry', entry }
        : range?.event === 'created'
          ? { kind: 'created', range }
          : undefined
    if (leaf) {
      nodes.push(node)
      leaves.push(leaf)
    } else if (isLookedUp(node) && !(await isShared(session, tenantId, node, FEW))) few.push(node)
    else return undefined
  }
  const rest = formulaOf(where, nodes)
  if (plan.grouped.length === 0 && query.visibility === 'all') return { where, leaves, formula: rest, few }
  const groups = groupPredicate(context, plan, query)
  return {
    where,
    leaves: [...leaves, { kind: 'groups', groups }],
    formula: { kind: 'and', of: [{ kind: 'leaf', leaf: leaves.length }, rest] },
    few,
  }
}

const groupsOf = (tenantId: string, groups: RawBuilder<SqlBool>) =>
  sql`select ${groupEntry} as entry from token_counts where tenant_id = ${tenantId} and count > 0 and ${groups}`

/** Up to which number all the leaves have bitmaps. */
const throughOf = (tenantId: string, leaves: readonly Leaf[]): RawBuilder<number> => {
  const places = leaves.flatMap((leaf) => {
    if (leaf.kind === 'entry')
      return [
        sql`select coalesce(max(through), 0) from token_bitmaps where tenant_id = ${tenantId} and entry = ${leaf.entry}`,
      ]
    if (leaf.kind === 'groups')
      return [
        sql`select coalesce(min(coalesce(through, 0)), ${sql.lit(END)}) from (${groupsOf(tenantId, leaf.groups)}) as met
          left join token_bitmaps on token_bitmaps.tenant_id = ${tenantId} and token_bitmaps.entry = met.entry`,
      ]
    return []
  })
  const last = sql`select coalesce(max(last_seq), 0) as place from token_segments where tenant_id = ${tenantId}`
  return sql`(select min(place) from (${sql.join([last, ...places], sql` union all `)}) as places)`
}

const NO_BITS = sql`cast(null as bytea)`
const NO_TOTAL = sql`cast(null as bigint)`

const rowsOf = (tenantId: string, through: number, leaf: Leaf, name: number): RawBuilder<Row> => {
  const bits = sql`select ${sql.lit(name)} as leaf, segment, bits, ${NO_TOTAL} as total
    from token_bits where tenant_id = ${tenantId} and segment <= ${through}`
  if (leaf.kind === 'entry') return sql`${bits} and entry = ${leaf.entry}`
  if (leaf.kind === 'groups') return sql`${bits} and entry in (${groupsOf(tenantId, leaf.groups)})`
  const { from, to } = leaf.range
  return sql`select ${sql.lit(name)}, last_seq,
      case when first_created_at >= ${from} and last_created_at < ${to} then ${NO_BITS} else times end, ${NO_TOTAL}
    from token_segments where tenant_id = ${tenantId} and last_seq <= ${through}
      and last_created_at >= ${from} and first_created_at < ${to}`
}

/** Rows that are in no segment, and what few tokens of the others add or take. */
const besides = (
  session: Session,
  plan: ListPlan,
  query: CountQuery,
  { where, few }: Asked,
  through: number,
): RawBuilder<number> => {
  const { dialect } = session
  const { tenantId } = query
  const context = { dialect, tenantId, ordered: true }
  const groups = groupPredicate(context, plan, query)
  const condition = (node: SearchNode) => searchPredicate(context, node)
  const met = (node: SearchNode) => sql`case when ${condition(node)} then 1 else 0 end`
  const [leader] = plan.leaders
  const [entry, another] = leader?.entries ?? []
  // One value leads to the newer tokens that have it; where there are several, all newer tokens are looked at.
  const newer =
    entry && !another
      ? sql`(select seq as led from (${matches(tenantId, entry)}) as of_one where seq > ${through}) as leads
          cross join tokens where tokens.seq = leads.led and`
      : sql`tokens where`
  const rest = plan.rest.filter((node) => another || node !== leader?.node)
  const later = sql<number>`(select count(*) from ${newer} tenant_id = ${tenantId} and seq > ${through}
    and ${groups} and ${condition({ kind: 'and', nodes: rest })})`
  if (few.length === 0) return later
  const found = sql.join(
    few.map((node) => matches(tenantId, node)),
    sql` union `,
  )
  return sql`${later} + (select coalesce(sum(${met(where)} - ${met(without(where, few))}), 0)
    from (${found}) as found cross join tokens
    where tokens.seq = found.seq and tokens.seq <= ${through} and tokens.tenant_id = ${tenantId} and ${groups})`
}

/** From `offset` on: which tokens of a segment were created in the range. */
const setCreated = (set: Bits, offset: number, { from, to }: TimeRange, times: Float64Array): void => {
  for (const [place, at] of times.entries()) if (at >= from && at < to) setBit(set, offset + place, true)
}

/** All segments side by side. */
const countRows = (rows: readonly Row[], { leaves, formula }: Asked): number => {
  const offsets = new Map<number, { readonly from: number; readonly to: number }>()
  let size = 0
  for (const { leaf, segment, bits } of rows) {
    if (leaf !== PLACES || bits === null) continue
    offsets.set(segment, { from: size, to: size + bits.byteLength })
    size += bits.byteLength
  }
  const every = noBits(size * 8)
  const sets = leaves.map(() => noBits(size * 8))
  for (const { leaf, segment, bits } of rows) {
    const offset = offsets.get(segment)
    const set = leaf === PLACES ? every : sets[leaf]
    if (!offset || !set) continue
    const part = new Uint8Array(set.buffer).subarray(offset.from, offset.to)
    const asked = leaves[leaf]
    if (bits === null) part.fill(0xff)
    else if (asked?.kind === 'created') setCreated(set, offset.from * 8, asked.range, unpackNumbers(bits))
    else if (asked?.kind === 'groups') for (let at = 0; at < bits.length; at++) part[at]! |= bits[at]!
    else part.set(bits)
  }
  return countBits(evaluate({ kind: 'and', of: [formula] }, sets, every))
}

/**
 * How many tokens a list has in all, where values that it combines have bitmaps: a bit for each token, and the rows of
 * those that are in no segment yet. Undefined when that does not tell.
 */
export const countByBitmaps = async (
  session: Session,
  plan: ListPlan,
  query: CountQuery,
): Promise<number | undefined> => {
  const asked = await ask(session, plan, query)
  if (asked === undefined) return undefined
  const { tenantId } = query
  const { builder } = session.dialect
  const placed = throughOf(tenantId, asked.leaves)
  const [before] = await session.search(builder.selectNoFrom(placed.as('through')), tenantId)
  const through = Number(before?.through ?? 0)
  if (through === 0) return undefined
  // One statement: of one moment.
  const total = sql`${besides(session, plan, query, asked, through)} - ${expired(session, plan, query)}`
  const numbers = sql<Row>`select ${sql.lit(NUMBERS)} as leaf, ${placed} as segment, ${NO_BITS} as bits, ${total} as total`
  const parts = asked.leaves.map((leaf, name) => rowsOf(tenantId, through, leaf, name))
  const places = rowsOf(tenantId, through, { kind: 'entry', entry: EVERY }, PLACES)
  const all = sql<Row>`(${sql.join([numbers, places, ...parts], sql` union all `)})`
  const rows = await session.search(
    builder.selectFrom(all.as('rows')).select(['leaf', 'segment', 'bits', 'total']),
    tenantId,
  )
  const own = rows.find(({ leaf }) => leaf === NUMBERS)
  // Bitmaps that were dropped meanwhile, or a group that came.
  if (own === undefined || Number(own.segment) < through) return undefined
  return countRows(rows, asked) + Number(own.total)
}
