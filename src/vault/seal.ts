import { AppError, invalid } from '../common/errors.ts'
import { type Json, pointerParts, valueAt, without } from '../common/json.ts'
import { parseJson } from '../common/parse-json.ts'
import type { SealContext, TenantKeys } from '../keys/types.ts'
import type { TokenRow } from '../store/tokens/types.ts'
import type { CompiledType } from './token-types.ts'

/** The opened content of a token, in memory for the time of a call only. */
export interface Opened {
  /** Without ephemeral members. */
  readonly data: Json
  /** Ephemeral members that have not expired, by JSON pointer. */
  readonly ephemeral: ReadonlyMap<string, Ephemeral>
  readonly mask?: Json
  readonly searchIndexes?: readonly string[]
  readonly fingerprintExpression?: string
}

/** Maximum bytes of a stored token: 1 MiB of data, and its mask and other expressions. */
export const MAX_STORED_BYTES = 1.5 * 1024 * 1024

interface Ephemeral {
  readonly value: Json
  /** Expiry in ms since the epoch. */
  readonly until: number
}

interface SealedBody {
  readonly data: Json
  readonly mask?: Json
  readonly search_indexes?: readonly string[]
  readonly fingerprint_expression?: string
}

type Bound = Omit<SealContext, 'part'>

type BoundColumns = Pick<
  TokenRow,
  | 'id'
  | 'type'
  | 'version'
  | 'container'
  | 'expires_at'
  | 'fingerprint'
  | 'egress'
  | 'metadata'
  | 'created_by'
  | 'created_at'
>

interface Seals {
  readonly sealed: Buffer
  readonly ephemeral: Buffer | null
  readonly ephemeral_until: number | null
  /** 1: with a mask of its own, in clear. */
  readonly masked: 1 | null
}

/** A copy of `value` with `member` at `pointer`; its parents exist. */
const withMember = (value: Json, pointer: string, member: Json): Json => {
  const insert = (current: Json, parts: readonly string[]): Json => {
    const [head, ...rest] = parts
    if (head === undefined) return member
    if (typeof current !== 'object' || current === null) return current
    const inner = Object.hasOwn(current, head) ? (current as Record<string, Json>)[head] : undefined
    const entries = { ...(current as Record<string, Json>) }
    const changed = rest.length === 0 ? member : insert(inner ?? {}, rest)
    Object.defineProperty(entries, head, {
      value: changed,
      enumerable: true,
      writable: true,
      configurable: true,
    })
    return Array.isArray(current) ? Object.assign([...current], entries) : entries
  }
  return insert(value, pointerParts(pointer))
}

/** The data with its ephemeral members inserted. */
export const completeData = (opened: Pick<Opened, 'data' | 'ephemeral'>): Json => {
  let data = opened.data
  for (const [at, { value }] of opened.ephemeral) data = withMember(data, at, value)
  return data
}

/**
 * Removes a type's ephemeral members from `data`. `expiryOf` returns the expiry of each; undefined: it has expired.
 */
export const splitEphemeral = (
  type: CompiledType,
  data: Json,
  expiryOf: (member: { readonly at: string; readonly seconds: number }) => number | undefined,
): Pick<Opened, 'data' | 'ephemeral'> => {
  const ephemeral = new Map<string, Ephemeral>()
  let rest = data
  for (const member of type.ephemeral) {
    const value = valueAt(data, member.at)
    if (value === undefined) continue
    rest = without(rest, member.at) as Json
    const until = expiryOf(member)
    if (until !== undefined) ephemeral.set(member.at, { value: value as Json, until })
  }
  return { data: rest, ephemeral }
}

/**
 * Both seals of a token's next version. Throws `invalid` for a token that is too large, imports included. The ephemeral
 * seal expires with the last of its members.
 */
export const sealToken = (keys: Pick<TenantKeys, 'seal'>, opened: Opened, bound: Bound): Seals => {
  const body: SealedBody = {
    data: opened.data,
    ...(opened.mask === undefined ? {} : { mask: opened.mask }),
    ...(opened.searchIndexes === undefined ? {} : { search_indexes: opened.searchIndexes }),
    ...(opened.fingerprintExpression === undefined
      ? {}
      : { fingerprint_expression: opened.fingerprintExpression }),
  }
  const plain = Buffer.from(JSON.stringify(body))
  if (plain.length > MAX_STORED_BYTES)
    throw invalid({
      data: [`must not be larger than ${MAX_STORED_BYTES} bytes with its mask and expressions`],
    })
  const sealed = keys.seal(plain, { ...bound, part: 'sealed' })
  const masked = opened.mask === undefined ? null : 1
  if (opened.ephemeral.size === 0) return { sealed, ephemeral: null, ephemeral_until: null, masked }
  const members = Buffer.from(JSON.stringify([...opened.ephemeral]))
  return {
    sealed,
    ephemeral: keys.seal(members, { ...bound, part: 'ephemeral' }),
    ephemeral_until: Math.max(...[...opened.ephemeral.values()].map(({ until }) => until)),
    masked,
  }
}

/**
 * The associated data of a token's seals: identity, container, expiry, index terms, author, and limits of egress if
 * there are any. A row in which any of them was edited does not open.
 */
export const tokenBinding = (tenantId: string, { id, type, version, ...row }: BoundColumns): Bound => ({
  tenantId,
  tokenId: id,
  type,
  version,
  also: [
    row.container,
    row.expires_at === null ? '' : String(row.expires_at),
    row.fingerprint ?? '',
    row.metadata === null ? '' : JSON.stringify(row.metadata),
    row.created_by,
    String(row.created_at),
    ...(row.egress === null ? [] : [JSON.stringify(row.egress)]),
  ],
})

/** Opens a row as of `now`, without expired ephemeral members, also before they are purged. */
export const openToken = (ring: TenantKeys, row: TokenRow, now: number): Opened => {
  const bound = tokenBinding(row.tenant_id, row)
  try {
    const body = parseJson(ring.open(row.sealed, { ...bound, part: 'sealed' }).toString()) as SealedBody
    const due = row.ephemeral_until === null || row.ephemeral_until <= now
    const members: [string, Ephemeral][] =
      row.ephemeral === null || due
        ? []
        : (parseJson(ring.open(row.ephemeral, { ...bound, part: 'ephemeral' }).toString()) as [
            string,
            Ephemeral,
          ][])
    const opened: { -readonly [Member in keyof Opened]: Opened[Member] } = {
      data: body.data,
      ephemeral: new Map(members.filter(([, { until }]) => until > now)),
    }
    if (body.mask !== undefined) opened.mask = body.mask
    if (body.search_indexes !== undefined) opened.searchIndexes = body.search_indexes
    if (body.fingerprint_expression !== undefined) opened.fingerprintExpression = body.fingerprint_expression
    return opened
  } catch (cause) {
    throw new AppError('internal', 'A stored token could not be opened. Give the trace id to the operator.', {
      cause,
    })
  }
}
