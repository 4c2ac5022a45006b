import { type Decision, seesData } from '../access/rules.ts'
import { isoTime } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Disclosure, Grants, Token, Work } from '../sdk/index.ts'
import type { TokenRow } from '../store/tokens/types.ts'
import { disclosedData, maskOf } from './disclosure.ts'
import type { Opened } from './seal.ts'
import type { Privacy } from './token-types.ts'
import type { VaultDeps } from './vault-deps.ts'

const UNKNOWN_TYPE: Privacy = {
  classification: 'general',
  impact_level: 'high',
  restriction_policy: 'redact',
}

/** The stored columns that a token's response has. */
export type ShownRow = Pick<
  TokenRow,
  | 'id'
  | 'tenant_id'
  | 'type'
  | 'container'
  | 'metadata'
  | 'fingerprint'
  | 'egress'
  | 'expires_at'
  | 'created_by'
  | 'created_at'
  | 'modified_by'
  | 'modified_at'
>

/** Data for a response; none when its mask fails over the data. */
export const shownData = (
  { expressions, types }: Pick<VaultDeps, 'expressions' | 'types'>,
  type: string,
  opened: Opened,
  disclosure: Disclosure,
  work?: Work,
): Json | undefined => {
  try {
    return disclosedData(expressions, types.get(type), opened, disclosure, 'show', work)
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_expression') return undefined
    throw error
  }
}

type Shown = { -readonly [Member in keyof Token]: Token[Member] }

/**
 * Members for any holder of the token's id: neither data nor metadata nor expressions. A fingerprint discloses what a
 * value equals, so only callers that see the data get it, and no caller that of an `egress_only` token.
 */
const summarize = (deps: Pick<VaultDeps, 'types'>, row: ShownRow, grants: Grants): Shown => {
  const token: Shown = {
    id: row.id,
    tenant_id: row.tenant_id,
    type: row.type,
    containers: [row.container],
    privacy: deps.types.get(row.type)?.privacy ?? UNKNOWN_TYPE,
    created_by: row.created_by,
    created_at: isoTime(row.created_at),
  }
  if (row.fingerprint !== null && !row.egress?.egress_only && seesData(grants, row))
    token.fingerprint = row.fingerprint
  if (row.expires_at !== null) token.expires_at = isoTime(row.expires_at)
  if (row.modified_by !== null) token.modified_by = row.modified_by
  if (row.modified_at !== null) token.modified_at = isoTime(row.modified_at)
  return token
}

/**
 * The token for one caller (completions §5), without its mask. `fingerprint_expression` is the sent one or the type's
 * default.
 */
export const serializeUnmasked = (
  deps: Pick<VaultDeps, 'types'>,
  row: ShownRow,
  opened: Opened,
  data: Json | undefined,
  grants: Grants,
): Shown => {
  const type = deps.types.get(row.type)
  const fingerprintExpression = opened.fingerprintExpression ?? type?.fingerprint
  const token = summarize(deps, row, grants)
  if (data !== undefined) token.data = data
  if (row.metadata !== null) token.metadata = row.metadata
  if (row.egress?.destinations) token.destinations = row.egress.destinations
  if (row.egress?.egress_only) token.egress_only = true
  if (opened.searchIndexes !== undefined) token.search_indexes = opened.searchIndexes
  if (fingerprintExpression !== undefined) token.fingerprint_expression = fingerprintExpression
  return token
}

/** The token for one caller, with its mask expression. */
export const serializeToken: typeof serializeUnmasked = (deps, row, opened, data, grants) => {
  const token = serializeUnmasked(deps, row, opened, data, grants)
  const mask = maskOf(deps.types.get(row.type), opened)
  if (mask !== undefined) token.mask = mask
  return token
}

/** The token with the data of `disclosure`; a summary for a caller that may not read it. */
export const serializeOrSummarize = (
  deps: Pick<VaultDeps, 'expressions' | 'types'>,
  row: ShownRow,
  opened: Opened,
  disclosure: Decision,
  grants: Grants,
  serialized = serializeToken,
  work?: Work,
): Token =>
  disclosure === 'denied'
    ? summarize(deps, row, grants)
    : serialized(deps, row, opened, shownData(deps, row.type, opened, disclosure, work), grants)
