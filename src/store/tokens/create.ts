import { AppError } from '../../common/errors.ts'
import { defineCommand, type Work } from '../command.ts'
import { requireKeys } from '../keys/data-key-guard.ts'
import type { Session } from '../session.ts'
import { type Counts, createCounts } from './counts.ts'
import { type SearchedToken, writeSearchRows } from './search-rows.ts'
import {
  deleteExpiredToken,
  insertAssociation,
  insertToken,
  liveTokenBySeq,
  tokenByFingerprint,
} from './statements.ts'
import { jsonColumns, toTokenRow } from './token-row.ts'
import type { Created, NewToken, TokenRow } from './types.ts'

/** Maximum bytes of existing tokens that one call returns as duplicates: one may occur very often. */
const MAX_DUPLICATE_BYTES = 32 * 1024 * 1024

/**
 * Fingerprints that are locked one by one and looked up at once, each of which may be that of a token of 1 MiB. A
 * server's table of locks is small, too.
 */
const MAX_DEDUPLICATED = 64

/** Tokens of one batch: its first call waits for the last. */
const MAX_BATCH = 1_000

/** Lock of all fingerprints of a tenant. Those who lock single ones share it. */
const fingerprintsLock = (tenantId: string): string => `fingerprints ${tenantId}`

type Fingerprinted = Pick<TokenRow, 'tenant_id' | 'fingerprint' | 'container'>

/** Name of the lock of one fingerprint in a container. */
const fingerprintLock = ({ tenant_id, fingerprint, container }: Fingerprinted): string =>
  `fingerprint ${tenant_id} ${fingerprint} ${container}`

/** True when a write of the token returns an existing one with its fingerprint. */
const deduplicates = ({ deduplicate, fingerprint }: NewToken): boolean => deduplicate && fingerprint !== null

/** Locks fingerprints of a tenant until the end of the command. */
export const lockFingerprints = async (
  session: Session,
  tenantId: string,
  tokens: readonly Fingerprinted[],
): Promise<void> => {
  if (tokens.length > MAX_DEDUPLICATED) await session.lock(fingerprintsLock(tenantId))
  else
    await together([
      session.lock(fingerprintsLock(tenantId), 'shared'),
      session.lockAll(tokens.map(fingerprintLock)),
    ])
}

/** Results of statements that were sent together. The first error is reported; those after it only follow from it. */
const together = async <T extends readonly unknown[]>(
  sent: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> => {
  const results = await Promise.allSettled(sent)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  }) as unknown as T
}

interface Create {
  /** Of one tenant. */
  readonly tokens: readonly NewToken[]
  readonly now: number
}

/** A token to create, and the call that it belongs to. */
interface Wanted {
  readonly token: NewToken
  readonly call: Create
}

/** Creates in progress, in one transaction. */
interface Creation {
  readonly session: Session
  readonly all: readonly Wanted[]
  /** Statements that were sent already; those that follow are sent before their response. */
  readonly sent: Promise<unknown>[]
  readonly results: Map<Wanted, Created>
  readonly counts: Counts
  /** Rejects a duplicate with which its call would return too many bytes. */
  readonly limit: (call: Create, duplicate: TokenRow) => void
}

const limitDuplicates = (): Creation['limit'] => {
  const bytes = new Map<Create, number>()
  return (call, { sealed }) => {
    const sum = (bytes.get(call) ?? 0) + sealed.length
    if (sum > MAX_DUPLICATE_BYTES)
      throw new AppError(
        'too_large',
        `The existing duplicate tokens are larger than ${MAX_DUPLICATE_BYTES} bytes in total. Send fewer at once.`,
      )
    bytes.set(call, sum)
  }
}

/** Sends what guards the tokens: locks on the keys that seal them, then on their fingerprints. */
const sendGuards = ({ session, all, sent }: Creation): void => {
  const tenants = [...Map.groupBy(all, ({ token }) => token.tenant_id)]
  for (const [tenantId, wanted] of tenants)
    sent.push(
      requireKeys(
        session,
        tenantId,
        wanted.flatMap(({ token: { sealed, ephemeral } }) => [sealed, ephemeral]),
      ),
    )
  for (const [tenantId, wanted] of tenants) {
    const deduplicated = wanted.map(({ token }) => token).filter(deduplicates)
    if (deduplicated.length > 0) sent.push(lockFingerprints(session, tenantId, deduplicated))
  }
  for (const statement of sent) statement.catch(() => {})
}

const requireParents = async ({ session, all, sent }: Creation): Promise<void> => {
  const children = all.filter(({ token }) => token.parentSeq !== undefined)
  if (children.length === 0) return
  const requireParent = async ({ token: { tenant_id, parentSeq = 0 }, call: { now } }: Wanted) => {
    if (!(await session.get(liveTokenBySeq, { tenant_id, seq: parentSeq, now })))
      throw new AppError('token_not_found', 'The parent token was deleted.')
  }
  await together([...sent, ...children.map(requireParent)])
}

/** The tokens whose id and fingerprint no other one before them has. */
const firstOf = (all: readonly Wanted[]): readonly Wanted[] => {
  const marks = new Set<string>()
  return all.filter(({ token }) => {
    const { tenant_id, id } = token
    const own = [`id ${tenant_id} ${id}`, ...(deduplicates(token) ? [fingerprintLock(token)] : [])]
    const isFirst = !own.some((mark) => marks.has(mark))
    for (const mark of own) marks.add(mark)
    return isFirst
  })
}

/** Looks for live tokens of which these, whose fingerprints are locked, are duplicates. */
const findDuplicates = async (
  { session, results, limit }: Creation,
  deduplicated: readonly Wanted[],
): Promise<void> => {
  const keys = deduplicated.map(({ token, call }) => {
    const { tenant_id, container } = token
    return { tenant_id, fingerprint: token.fingerprint as string, container, seq: 0, now: call.now }
  })
  const records = await session.getAll(tokenByFingerprint, keys)
  for (const [at, wanted] of deduplicated.entries()) {
    const key = keys[at]
    const record = key && records.get(key)
    if (record === undefined) continue
    const duplicate = toTokenRow(record, wanted.call.now)
    limit(wanted.call, duplicate)
    results.set(wanted, { kind: 'duplicate', token: duplicate })
  }
}

const rowOf = (token: NewToken, id: string) => ({ ...token, ...jsonColumns(token), id, version: 1 })

/** Inserts tokens whose ids are free. */
const insertFree = async ({ session, sent, results }: Creation, wanted: readonly Wanted[]): Promise<void> => {
  const rows = wanted.map(({ token }) => rowOf(token, token.id))
  const inserted = session.insertAll(insertToken, rows)
  await together([...sent, inserted])
  const seqs = await inserted
  for (const [at, row] of rows.entries()) {
    const seq = seqs.get(row)
    if (seq !== undefined) results.set(wanted[at] as Wanted, { kind: 'created', id: row.id, seq })
  }
}

/** Inserts a token under the first of its ids that no live token has. An expired one is replaced. */
const insertUnderAnyId = async (
  { session, counts }: Creation,
  { token, call: { now } }: Wanted,
): Promise<Created> => {
  const { tenant_id } = token
  for (const id of [token.id, ...token.fallbackIds]) {
    const row = rowOf(token, id)
    const insert = async () => (await session.insertAll(insertToken, [row])).get(row)
    let seq = await insert()
    if (seq === undefined) {
      // None when a live token has the id, or when the purge has removed the expired one since.
      const expired = await session.get(deleteExpiredToken, { tenant_id, id, now })
      if (expired) counts.removed(expired)
      seq = await insert()
    }
    if (seq !== undefined) return { kind: 'created', id, seq }
  }
  // The error does not name the id: an alias may contain digits of the data.
  throw new AppError(
    'conflict',
    'The id is already in use. Choose another one, or omit "id" to have one generated.',
  )
}

/** Sends search rows, associations and counts. */
const sendRest = ({ session, all, results, counts }: Creation): Promise<unknown> => {
  const created: SearchedToken[] = []
  const associations: { tenant_id: string; parent_seq: number; child_seq: number }[] = []
  for (const wanted of all) {
    const { token } = wanted
    const { tenant_id, parentSeq: parent_seq, terms, metadata } = token
    const result = results.get(wanted) as Created
    const child_seq = result.kind === 'created' ? result.seq : result.token.seq
    // A token that duplicates its own parent gets none.
    if (parent_seq !== undefined && parent_seq !== child_seq)
      associations.push({ tenant_id, parent_seq, child_seq })
    if (result.kind === 'duplicate') continue
    counts.created(token)
    created.push({ tenant_id, seq: result.seq, terms, metadata })
  }
  const statements = [...writeSearchRows(session, created), counts.write(session)]
  if (associations.length > 0) statements.push(session.runAll(insertAssociation, associations))
  return together(statements)
}

/**
 * Creates the tokens of all calls with as many statements as one token needs. On PostgreSQL they take two round trips,
 * with begin and commit, and another where fingerprints are looked up. A token whose id is in use, or whose id or
 * fingerprint another one of them has, follows after the others.
 */
const createTogether = async (
  session: Session,
  calls: readonly Create[],
): Promise<Work<readonly (readonly Created[])[]>> => {
  const wanted = calls.map((call) => call.tokens.map((token): Wanted => ({ token, call })))
  const all = wanted.flat()
  const results = new Map<Wanted, Created>()
  const creation = { session, all, sent: [], results, counts: createCounts(), limit: limitDuplicates() }
  sendGuards(creation)
  await requireParents(creation)
  const first = firstOf(all)
  const deduplicated = first.filter(({ token }) => deduplicates(token))
  for (let at = 0; at < deduplicated.length; at += MAX_DEDUPLICATED)
    await together([
      ...creation.sent,
      findDuplicates(creation, deduplicated.slice(at, at + MAX_DEDUPLICATED)),
    ])
  await insertFree(
    creation,
    first.filter((token) => !results.has(token)),
  )
  for (const token of all) {
    if (!results.has(token) && deduplicates(token.token)) await findDuplicates(creation, [token])
    if (!results.has(token)) results.set(token, await insertUnderAnyId(creation, token))
  }
  const result = wanted.map((tokens) => tokens.map((token) => results.get(token) as Created))
  return { result, last: sendRest(creation) }
}

/** Calls of which each, and all, have a bounded number of tokens that may have large duplicates. */
const batchSize = (calls: readonly Create[]): number => {
  let tokens = 0
  let deduplicated = 0
  const end = calls.findIndex((call, at) => {
    tokens += call.tokens.length
    deduplicated += call.tokens.filter(deduplicates).length
    return at > 0 && (tokens > MAX_BATCH || deduplicated > MAX_DEDUPLICATED)
  })
  return end === -1 ? calls.length : end
}

/** Atomic, in order; finds duplicates among the new tokens too. */
export const createTokens = defineCommand({
  name: 'tokens.create',
  run: async (session: Session, call: Create): Promise<readonly Created[]> => {
    const { result, last } = await createTogether(session, [call])
    await last
    return result[0] ?? []
  },
  tenantOf: ({ tokens }) => tokens[0]?.tenant_id,
  scope: 'tenant',
  isEffect: true,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
  batch: { size: batchSize, run: createTogether },
})
