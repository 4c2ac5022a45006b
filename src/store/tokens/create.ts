import { AppError } from '../../common/errors.ts'
import { requireKeys } from '../keys/data-key-guard.ts'
import type { Session } from '../session.ts'
import { type Counts, createCounts } from './counts.ts'
import {
  deleteExpiredToken,
  insertAssociation,
  insertMetadata,
  insertTerm,
  insertToken,
  liveTokenBySeq,
  tokenByFingerprint,
} from './statements.ts'
import { jsonColumns, toTokenRow } from './token-row.ts'
import type { Created, NewToken, TokenRow } from './types.ts'

/** Maximum bytes of existing tokens that one call returns as duplicates: one may occur very often. */
const DUPLICATES = 32 * 1024 * 1024

/** Fingerprints of one call that are locked one by one. A server's table of locks is small. */
const MAX_LOCKS = 64

/** Lock of all fingerprints of a tenant. Those who lock single ones share it. */
export const fingerprintsLock = (tenantId: string): string => `fingerprints ${tenantId}`

/** Name of the lock of one fingerprint in a container. */
export const fingerprintLock = ({
  tenant_id,
  fingerprint,
  container,
}: Pick<TokenRow, 'tenant_id' | 'fingerprint' | 'container'>): string =>
  `fingerprint ${tenant_id} ${fingerprint} ${container}`

/** True when a write of the token returns an existing one with its fingerprint. */
export const deduplicates = ({ deduplicate, fingerprint }: NewToken): boolean =>
  deduplicate && fingerprint !== null

/** Blind terms and metadata of a token, as rows of their own. */
export const writeSearchRows = async (
  session: Session,
  tenant_id: string,
  seq: number,
  terms: readonly Uint8Array[],
  metadata: TokenRow['metadata'],
): Promise<void> => {
  for (const term of terms) await session.run(insertTerm, { tenant_id, term, seq })
  if (metadata === null) return
  for (const [key, value] of Object.entries(metadata))
    await session.run(insertMetadata, { tenant_id, key, value, seq })
}

/** Locks the token's fingerprint until the end of the command. */
export const lockFingerprint = async (
  session: Session,
  token: Pick<TokenRow, 'tenant_id' | 'fingerprint' | 'container'>,
): Promise<void> => {
  await Promise.all([
    session.lock(fingerprintsLock(token.tenant_id), 'shared'),
    session.lock(fingerprintLock(token)),
  ])
}

/**
 * The live token that a deduplicating write of `token` would duplicate. Its fingerprint must be locked. `seq`: the
 * writer's own, 0 when new.
 */
export const findDuplicate = async (
  session: Session,
  token: Pick<TokenRow, 'tenant_id' | 'fingerprint' | 'container'>,
  seq: number,
  now: number,
): Promise<TokenRow | undefined> => {
  const { tenant_id, fingerprint, container } = token
  if (fingerprint === null) return undefined
  const found = await session.get(tokenByFingerprint, { tenant_id, fingerprint, container, seq, now })
  return found && toTokenRow(found, now)
}

/** The new row's number; undefined when a live token has the id. An expired one is replaced. */
const insert = async (
  session: Session,
  token: NewToken,
  id: string,
  counts: Counts,
  now: number,
): Promise<number | undefined> => {
  const values = { ...token, ...jsonColumns(token), id }
  const seq = await session.insert(insertToken, values)
  if (seq !== undefined) return seq
  const { tenant_id } = token
  // None when a live token has the id, or when the purge has removed the expired one since.
  const expired = await session.get(deleteExpiredToken, { tenant_id, id, now })
  if (expired) counts.removed(expired)
  return session.insert(insertToken, values)
}

/** Associates the requested parent with a child; a token that duplicates its own parent gets none. */
const associate = async (session: Session, token: NewToken, seq: number): Promise<void> => {
  const { parentSeq: parent_seq, tenant_id } = token
  if (parent_seq === undefined || parent_seq === seq) return
  await session.run(insertAssociation, { parent_seq, child_seq: seq, tenant_id })
}

/** `locked`: all fingerprints of the tenant are locked. */
const createOne = async (
  session: Session,
  token: NewToken,
  { counts, now, locked }: { readonly counts: Counts; readonly now: number; readonly locked: boolean },
): Promise<Created> => {
  const { tenant_id, parentSeq } = token
  if (parentSeq !== undefined && !(await session.get(liveTokenBySeq, { tenant_id, seq: parentSeq, now })))
    throw new AppError('token_not_found', 'The parent token was deleted.')
  if (deduplicates(token)) {
    if (!locked) await lockFingerprint(session, token)
    const duplicate = await findDuplicate(session, token, 0, now)
    if (duplicate) {
      await associate(session, token, duplicate.seq)
      return { kind: 'duplicate', token: duplicate }
    }
  }
  for (const id of [token.id, ...token.fallbackIds]) {
    const seq = await insert(session, token, id, counts, now)
    if (seq === undefined) continue
    await writeSearchRows(session, token.tenant_id, seq, token.terms, token.metadata)
    await associate(session, token, seq)
    counts.created(token)
    return { kind: 'created', id, seq }
  }
  // The error does not name the id: an alias may contain digits of the data.
  throw new AppError(
    'conflict',
    'The id is already in use. Choose another one, or omit "id" to have one generated.',
  )
}

export interface Create {
  readonly tokens: readonly NewToken[]
  readonly now: number
}

/** Atomic, in order; finds duplicates among the new tokens too. The tokens of one call belong to one tenant. */
export const createTogether = async (
  session: Session,
  calls: readonly Create[],
): Promise<readonly (readonly Created[])[]> => {
  const tenants = Map.groupBy(
    calls.flatMap(({ tokens }) => tokens),
    ({ tenant_id }) => tenant_id,
  )
  for (const [tenantId, tokens] of tenants)
    await requireKeys(
      session,
      tenantId,
      tokens.flatMap(({ sealed, ephemeral }) => [sealed, ephemeral]),
    )
  const locked = new Set<string>()
  for (const [tenantId, tokens] of tenants) {
    if (tokens.filter(deduplicates).length <= MAX_LOCKS) continue
    await session.lock(fingerprintsLock(tenantId))
    locked.add(tenantId)
  }
  const counts = createCounts()
  const results: Created[][] = []
  for (const { tokens, now } of calls) {
    const created: Created[] = []
    let left = DUPLICATES
    for (const token of tokens) {
      const one = await createOne(session, token, { counts, now, locked: locked.has(token.tenant_id) })
      if (one.kind === 'duplicate') left -= one.token.sealed.length
      if (left < 0)
        throw new AppError(
          'too_large',
          `The existing duplicate tokens are larger than ${DUPLICATES} bytes in total. Send fewer at once.`,
        )
      created.push(one)
    }
    results.push(created)
  }
  await counts.write(session)
  return results
}

export const createTokens = async (session: Session, call: Create): Promise<readonly Created[]> => {
  const [created = []] = await createTogether(session, [call])
  return created
}
