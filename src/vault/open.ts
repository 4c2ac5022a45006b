/** Reads the tokens that a call names: their sizes are summed first, then they are read in batches. */
import { AppError } from '../common/errors.ts'
import { yieldIfDue } from '../common/event-loop.ts'
import type { Eventual } from '../common/eventual.ts'
import type { UseContext } from '../sdk/index.ts'
import type { TokenHead, TokenRow } from '../store/tokens/types.ts'
import { createMemoryBudget } from './memory-budget.ts'
import { type Opened, openToken } from './seal.ts'
import type { VaultDeps } from './vault-deps.ts'

/** Tokens up to this number are read without a check of their sizes: together they are within the limit of a call. */
const FEW = 16
/** Maximum bytes of stored tokens, and maximum tokens, of a batch. */
const BATCH = { bytes: 2 * 1024 * 1024, tokens: 500 }

type Sized = Pick<TokenHead, 'id' | 'bytes'>

export const bytesOf = (heads: readonly Sized[]): number => heads.reduce((sum, { bytes }) => sum + bytes, 0)

/** Called for each of many tokens before one is read. */
type CheckHead = (head: TokenHead) => Eventual<unknown>

/** Existing tokens of a call; of a few, only the ids are known. */
export const headsOf = (
  deps: Pick<VaultDeps, 'tokens'>,
  tenantId: string,
  ids: readonly string[],
  now: number,
  check?: CheckHead,
): Eventual<readonly Sized[]> =>
  ids.length <= FEW ? ids.map((id) => ({ id, bytes: 0 })) : readHeads(deps, tenantId, ids, now, check)

/** Heads of existing tokens, in batches. */
export const readHeads = async (
  { tokens }: Pick<VaultDeps, 'tokens'>,
  tenantId: string,
  ids: readonly string[],
  now: number,
  check?: CheckHead,
): Promise<readonly Sized[]> => {
  const heads: Sized[] = []
  for (let at = 0; at < ids.length; at += BATCH.tokens) {
    const pause = at > 0 ? yieldIfDue() : undefined
    if (pause) await pause
    for (const head of await tokens.heads(tenantId, ids.slice(at, at + BATCH.tokens), now)) {
      const pause = yieldIfDue()
      if (pause) await pause
      const checking = check?.(head)
      if (checking instanceof Promise) await checking
      // The rest may be large, and is for the check only.
      heads.push({ id: head.id, bytes: head.bytes })
    }
  }
  return heads
}

/** Throws `too_large` above the limit of a call. */
export const checkBytes = (
  { limits: { opened } }: Pick<VaultDeps, 'limits'>,
  heads: readonly Sized[],
): void => {
  if (bytesOf(heads) > opened)
    throw new AppError(
      'too_large',
      `The tokens named are larger than ${opened} bytes together. Name fewer at once.`,
    )
}

/** Bytes of the sealed tokens in the store. */
export const storedBytes = (rows: readonly Pick<TokenRow, 'sealed' | 'ephemeral'>[]): number =>
  rows.reduce((sum, { sealed, ephemeral }) => sum + sealed.length + (ephemeral?.length ?? 0), 0)

const NO_SEAL = Buffer.alloc(0)

/** The row without its seals, which were opened: their bytes need not live as long as the row. */
export const withoutSeals = (row: TokenRow): OpenedRow =>
  Object.assign(row, { sealed: NO_SEAL, ephemeral: null })

export type OpenedRow = Omit<TokenRow, 'sealed' | 'ephemeral'>

function* batchesOf(heads: readonly Sized[]): Generator<readonly string[]> {
  let ids: string[] = []
  let left = BATCH.bytes
  for (const { id, bytes } of heads) {
    if (ids.length > 0 && (bytes > left || ids.length === BATCH.tokens)) {
      yield ids
      ids = []
      left = BATCH.bytes
    }
    ids.push(id)
    left -= bytes
  }
  if (ids.length > 0) yield ids
}

type OpenDeps = Pick<VaultDeps, 'tokens' | 'keys' | 'held'>

/** Called for each token of a batch before one of them is opened. */
type CheckRow = (row: TokenRow) => Eventual<void>

/** Does something with a token, which `open` opens. */
export type TakeRow = (row: TokenRow, open: () => Opened) => Eventual<void>

/**
 * Takes the tokens in order, read in batches, to be opened one by one; tokens that were deleted concurrently are left
 * out. Yields to other work. Fails with `rate_limited` when the tenant holds too many bytes.
 */
export const openEach = async (
  deps: OpenDeps,
  context: UseContext,
  heads: readonly Sized[],
  now: number,
  take: TakeRow,
  check?: CheckRow,
): Promise<void> => {
  const { tenantId } = context.caller
  const hold = createMemoryBudget(deps, context)
  let unread = bytesOf(heads)
  hold(unread)
  for (const ids of heads.length <= FEW ? [heads.map(({ id }) => id)] : batchesOf(heads)) {
    const reading = deps.tokens.read(tenantId, ids, now)
    const stored = reading instanceof Promise ? await reading : reading
    // The sizes of a few tokens were not checked before.
    unread -= storedBytes(stored)
    hold(-unread)
    unread = Math.max(unread, 0)
    const loading = deps.keys.tenant(
      tenantId,
      stored.map(({ sealed }) => sealed),
    )
    const ring = loading instanceof Promise ? await loading : loading
    const rows = new Map(stored.map((row) => [row.id, row]))
    if (check !== undefined)
      for (let at = 0; at < ids.length; at++) {
        const pause = at > 0 ? yieldIfDue() : undefined
        if (pause) await pause
        const row = rows.get(ids[at] as string)
        const checking = row && check(row)
        if (checking) await checking
      }
    for (let at = 0; at < ids.length; at++) {
      const pause = at > 0 ? yieldIfDue() : undefined
      if (pause) await pause
      const id = ids[at] as string
      const row = rows.get(id)
      const taking = row && take(row, () => openToken(ring, row, now))
      if (taking) await taking
      rows.delete(id)
    }
  }
}
