import { decide } from '../access/rules.ts'
import { AppError } from '../common/errors.ts'
import { mapInTurns } from '../common/event-loop.ts'
import type { Eventual } from '../common/eventual.ts'
import type { Json } from '../common/json.ts'
import { bodyWork } from '../expressions/work.ts'
import type { Disclosure, Grants, TokenPermission, TokenState, UseContext, UsedToken } from '../sdk/index.ts'
import type { TokenHead, TokenRow } from '../store/tokens/types.ts'
import { doneRecord } from './audit-records.ts'
import { disclosedData } from './disclosure.ts'
import { checkRead, checkUse, giveToCode, opacityOf, pathCheckOf } from './egress.ts'
import {
  checkBytes,
  headsOf,
  type OpenedRow,
  openEach,
  readHeads,
  type TakeRow,
  withoutSeals,
} from './open.ts'
import { reject } from './read.ts'
import type { Opened } from './seal.ts'
import { serializeToken } from './serialize-token.ts'
import { stateOf } from './used.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

/** A token of an expression. */
export interface Resolved {
  readonly row: OpenedRow
  /** `redact`, too, where a mask was granted and the token has none. */
  readonly disclosure: Disclosure
  /** Null when redacted. */
  readonly data: Json
  /** The token as the API returns it, with this `data`. */
  toToken(): Json
}

const unknownToken = (wanted: readonly string[], known: Iterable<string>): AppError => {
  const ids = new Set(known)
  return new AppError(
    'invalid_expression',
    'An expression names a token that does not exist or has expired. Check its token ids.',
    { tokens: wanted.filter((id) => !ids.has(id)) },
  )
}

/** The value of `token: <id>` (completions §6): the token as the API returns it, always with `data`. */
export const tokenValue = (
  deps: VaultDeps,
  row: OpenedRow,
  opened: Opened,
  data: Json,
  grants: Grants,
): Json => serializeToken(deps, row, opened, data, grants) as unknown as Json

/** Throws `invalid_expression` above the limit of tokens in one body. */
export const checkCount = ({ limits }: VaultDeps, ids: readonly string[]): void => {
  if (ids.length > limits.tokens)
    throw new AppError('invalid_expression', `More than ${limits.tokens} tokens in one body. Split it.`)
}

/**
 * Reads all tokens of expressions and writes their audit records; `show` makes the results, by id. All or none: an
 * unknown id is `invalid_expression`, a token that the caller has no grant for `forbidden`.
 */
export const resolveTokens = async <Shown>(
  deps: VaultDeps,
  ids: readonly string[],
  permission: Extract<TokenPermission, 'token:read' | 'token:use'>,
  context: UseContext,
  show: (resolved: Resolved) => Shown,
): Promise<ReadonlyMap<string, Shown>> => {
  const wanted = ids.length === 1 ? ids : [...new Set(ids)]
  if (wanted.length === 0) return new Map()
  checkCount(deps, wanted)
  const now = timeOf(deps, context)
  const { tenantId, grants } = context.caller
  const purpose = permission === 'token:use' ? 'use' : 'read'
  const check = permission === 'token:use' ? checkUse : checkRead
  const disclosureOf = (
    row: Pick<TokenHead, 'id' | 'type' | 'container' | 'egress'>,
  ): Eventual<Disclosure> => {
    const decision = decide(grants, permission, row)
    if (decision !== 'denied') return check(deps, row, decision, context)
    context.decisions?.add(grants, permission, row)
    return reject(deps, row, purpose, context)
  }
  const reading = headsOf(deps, tenantId, wanted, now, disclosureOf)
  const heads = reading instanceof Promise ? await reading : reading
  if (heads.length < wanted.length)
    throw unknownToken(
      wanted,
      heads.map(({ id }) => id),
    )
  checkBytes(deps, heads)
  const { work = bodyWork() } = context
  const shown = new Map<string, Shown>()
  const all: Pick<Resolved, 'row' | 'disclosure'>[] = []
  const states: TokenState[] | undefined = context.used && []
  const resolveOne = (row: TokenRow, open: () => Opened, granted: Disclosure): void => {
    const type = deps.types.get(row.type)
    if (!type)
      throw new AppError('unprocessable', "An expression names a token whose type's plugin is not installed.")
    const opened = open()
    const reader = purpose === 'use' ? 'use' : 'show'
    const disclosed = disclosedData(deps.expressions, type, opened, granted, reader, work)
    const disclosure = disclosed === undefined ? 'redact' : granted
    const data = disclosed ?? null
    const stored = withoutSeals(row)
    if (context.destination === undefined) giveToCode(context, row, disclosure, data)
    states?.push(stateOf(row, opened))
    const resolved: Resolved = {
      row: stored,
      disclosure,
      data,
      toToken: () => tokenValue(deps, stored, opened, data, grants),
    }
    all.push(resolved)
    shown.set(row.id, show(resolved))
  }
  // In the order in which rows are opened.
  const disclosures: Disclosure[] = []
  let at = 0
  const take: TakeRow = (row, open) => resolveOne(row, open, disclosures[at++] as Disclosure)
  await openEach(deps, context, heads, now, take, (row) => {
    const disclosing = disclosureOf(row)
    if (!(disclosing instanceof Promise)) return void disclosures.push(disclosing)
    return disclosing.then((disclosure) => void disclosures.push(disclosure))
  })
  if (shown.size < wanted.length) throw unknownToken(wanted, shown.keys())
  const recording = mapInTurns(all, ({ row, disclosure }) =>
    doneRecord(deps, row, purpose, context, now, disclosure),
  )
  await deps.journal.append(recording instanceof Promise ? await recording : recording)
  const counting = mapInTurns(all, ({ row, disclosure }) => {
    context.decisions?.add(grants, permission, row)
    deps.metrics.disclosed.inc({ type: row.type, purpose, disclosure })
  })
  if (counting instanceof Promise) await counting
  if (states) for (const state of states) context.used?.add(state)
  return shown
}

const usedToken = ({ row, data, toToken }: Resolved, context: UseContext): UsedToken => {
  const { id, type, container } = row
  const checkPath = pathCheckOf(row, context)
  const token = {
    ...{ id, type, data, container, toToken },
    ...(row.egress?.egress_only && { isEgressOnly: true as const }),
  }
  const opacity = opacityOf(row, context)
  if (checkPath === undefined && opacity === undefined) return token
  return { ...token, ...(checkPath && { checkPath }), ...opacity }
}

/** `Vault.use`. */
export const useTokens = (
  deps: VaultDeps,
  ids: readonly string[],
  context: UseContext,
): Promise<ReadonlyMap<string, UsedToken>> =>
  resolveTokens(deps, ids, 'token:use', context, (resolved) => usedToken(resolved, context))

/** `Vault.known`. */
export const knownTokens = async (
  deps: VaultDeps,
  ids: readonly string[],
  context: Pick<UseContext, 'caller' | 'now'>,
): Promise<ReadonlyMap<string, string>> => {
  const containers = new Map<string, string>()
  await readHeads(deps, context.caller.tenantId, ids, timeOf(deps, context), ({ id, container }) => {
    containers.set(id, container)
  })
  return containers
}
