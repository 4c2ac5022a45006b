import type { ClientBase } from 'pg'
import { keysHold } from '../keys/data-key-guard.ts'
import type { Session } from '../session.ts'
import { createCounts } from '../tokens/counts.ts'
import { deduplicates, fingerprintLock, fingerprintsLock } from '../tokens/create.ts'
import { jsonColumns, TOKEN_COLUMNS, type TokenRecord, toTokenRow } from '../tokens/token-row.ts'
import type { Created, NewToken, TokenRow } from '../tokens/types.ts'
import type { Commands } from '../write-commands.ts'
import { enterScope, scopeOf } from './tenant-scope.ts'
import { IS_STARTED, type Work } from './transaction.ts'

type Create = Commands['tokens.create']['args']

/** A call needs its own command: an id is in use, or a key is closed. The batch must be rolled back. */
class BatchRejected extends Error {}

const COLUMNS = {
  tenant_id: 'text',
  id: 'text',
  type: 'text',
  container: 'text',
  sealed: 'bytea',
  ephemeral: 'bytea',
  ephemeral_until: 'bigint',
  metadata: 'text',
  fingerprint: 'text',
  egress: 'text',
  masked: 'bigint',
  expires_at: 'bigint',
  created_by: 'text',
  created_at: 'bigint',
} as const satisfies Partial<Record<keyof TokenRecord, string>>

const names = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]

/** Numbers (`seq`) are given in the order of the rows. Sent before the response to `begin`. */
const INSERT = {
  name: 'create tokens',
  text: `insert into tokens (${names.join(', ')}, version)
    select *, 1 from unnest(${names.map((name, at) => `$${at + 1}::${COLUMNS[name]}[]`).join(', ')}) where ${IS_STARTED}
    on conflict (tenant_id, id) do nothing returning id, seq`,
}

/** Locked in one order everywhere, with the names that `lockFingerprint` uses. */
const LOCK = {
  name: 'lock fingerprints',
  text: `select pg_advisory_xact_lock(hash) from (select distinct hashtextextended('sidevault ' || name, 0) as hash
    from unnest($1::text[]) as name order by 1) as hashes`,
}

const DUPLICATES = {
  name: 'find duplicates',
  text: `select wanted.at, found.* from unnest($2::text[], $3::text[], $4::bigint[])
      with ordinality as wanted (fingerprint, container, now, at)
    join lateral (select ${TOKEN_COLUMNS.join(', ')} from tokens
      where tenant_id = $1 and fingerprint = wanted.fingerprint and container = wanted.container
        and (expires_at is null or expires_at > wanted.now) order by seq limit 1) as found on true`,
}

const TERMS = {
  name: 'create terms',
  text: `insert into token_terms (tenant_id, term, seq)
    select $1, term, seq from unnest($2::bytea[], $3::bigint[]) as rows (term, seq) on conflict do nothing`,
}

const METADATA = {
  name: 'create metadata',
  text: `insert into token_metadata (tenant_id, key, value, seq)
    select $1, key, value, seq from unnest($2::text[], $3::text[], $4::bigint[]) as rows (key, value, seq)`,
}

/** Most tokens at once of which each may match an existing one of 1 MiB. Single calls sum the sizes. */
const MOST_DEDUPLICATED = 100

/**
 * Takes calls from the front of `waiting` that can be written together: calls of one tenant, without parents and without
 * ids or deduplicated fingerprints in common, and with at most 100 of those. Empty when the first call needs its own
 * command.
 */
export const takeBatch = <T extends { readonly args: Create }>(
  waiting: readonly T[],
  maxTokens: number,
): readonly T[] => {
  const tenant = waiting[0]?.args.tokens[0]?.tenant_id
  const met = new Set<string>()
  const batch: T[] = []
  let size = 0
  let deduplicated = 0
  for (const job of waiting) {
    const { tokens } = job.args
    const wanted = tokens.filter(deduplicates).length
    const marks = tokens.flatMap((token) => [
      `id ${token.id}`,
      ...(deduplicates(token) ? [fingerprintLock(token)] : []),
    ])
    const fits =
      tokens.every(({ tenant_id, parentSeq }) => tenant_id === tenant && parentSeq === undefined) &&
      new Set(marks).size === marks.length &&
      !marks.some((mark) => met.has(mark)) &&
      (size === 0 || size + tokens.length <= maxTokens) &&
      deduplicated + wanted <= MOST_DEDUPLICATED
    if (!fits) break
    for (const mark of marks) met.add(mark)
    size += tokens.length
    deduplicated += wanted
    batch.push(job)
  }
  return batch
}

interface Wanted {
  readonly token: NewToken
  readonly now: number
}

const findDuplicates = async (
  client: ClientBase,
  session: Session,
  tenantId: string,
  all: readonly Wanted[],
): Promise<ReadonlyMap<NewToken, TokenRow>> => {
  const wanted = all.filter(({ token }) => deduplicates(token))
  if (wanted.length === 0) return new Map()
  const [, , { rows }] = await Promise.all([
    session.lock(fingerprintsLock(tenantId), 'shared'),
    client.query({ ...LOCK, values: [wanted.map(({ token }) => fingerprintLock(token))] }),
    client.query<TokenRecord & { at: number }>({
      ...DUPLICATES,
      values: [
        tenantId,
        wanted.map(({ token }) => token.fingerprint),
        wanted.map(({ token }) => token.container),
        wanted.map(({ now }) => now),
      ],
    }),
  ])
  return new Map(
    rows.map(({ at, ...record }) => {
      const { token, now } = wanted[at - 1] as Wanted
      return [token, toTokenRow(record, now)]
    }),
  )
}

/** The numbers of the new rows by their ids. */
const insertAll = async (
  client: ClientBase,
  tokens: readonly NewToken[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = tokens.map((token) => ({ ...token, ...jsonColumns(token) }))
  const inserted = await client.query<{ id: string; seq: number }>({
    ...INSERT,
    values: names.map((name) => rows.map((row) => row[name])),
  })
  if (inserted.rows.length < tokens.length)
    throw new BatchRejected('an id is in use, or the transaction has not started')
  return new Map(inserted.rows.map(({ id, seq }) => [id, seq]))
}

const insertSearchRows = (
  client: ClientBase,
  tenantId: string,
  tokens: readonly NewToken[],
  seqs: ReadonlyMap<string, number>,
): Promise<unknown> => {
  const terms = tokens.flatMap(({ id, terms }) => terms.map((term) => [term, seqs.get(id)] as const))
  const entries = tokens.flatMap(({ id, metadata }) =>
    Object.entries(metadata ?? {}).map(([key, value]) => [key, value, seqs.get(id)] as const),
  )
  return Promise.all([
    terms.length > 0 &&
      client.query({
        ...TERMS,
        values: [tenantId, terms.map(([term]) => term), terms.map(([, seq]) => seq)],
      }),
    entries.length > 0 &&
      client.query({
        ...METADATA,
        values: [tenantId, ...([0, 1, 2] as const).map((at) => entries.map((entry) => entry[at]))],
      }),
  ])
}

/**
 * Runs `tokens.create` for all calls with as many statements as one call needs, in two round trips including begin and
 * commit. `session` and `client` belong to one transaction. Throws `BatchRejected`, or the error of the failed statement;
 * then no call has succeeded.
 */
export const createBatch = async (
  client: ClientBase,
  session: Session,
  calls: readonly Create[],
): Promise<Work<readonly (readonly Created[])[]>> => {
  const all = calls.flatMap(({ tokens, now }) => tokens.map((token) => ({ token, now })))
  const tenantId = all[0]?.token.tenant_id ?? ''
  // A failure of it fails all statements after it.
  enterScope(client, scopeOf(tenantId))?.catch(() => {})
  const sealed = all.flatMap(({ token }) => [token.sealed, token.ephemeral])
  // Its result arrives with that of the next write.
  const held = keysHold(session, tenantId, sealed)
  held.catch(() => {})
  const duplicates = await findDuplicates(client, session, tenantId, all)
  const fresh = all.map(({ token }) => token).filter((token) => !duplicates.has(token))
  const seqs = fresh.length === 0 ? new Map<string, number>() : await insertAll(client, fresh)
  if (!(await held)) throw new BatchRejected('a data key is closed')
  const counts = createCounts()
  for (const token of fresh) counts.created(token)
  const last = Promise.all([insertSearchRows(client, tenantId, fresh, seqs), counts.write(session)])
  const resultOf = (token: NewToken): Created => {
    const duplicate = duplicates.get(token)
    if (duplicate !== undefined) return { kind: 'duplicate', token: duplicate }
    return { kind: 'created', id: token.id, seq: seqs.get(token.id) as number }
  }
  return { result: calls.map(({ tokens }) => tokens.map(resultOf)), last }
}
