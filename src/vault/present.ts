import { isoTime } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Disclosure, Token } from '../sdk/index.ts'
import type { TokenRow } from '../store/types.ts'
import type { Decision } from './access.ts'
import { disclosedData, maskOf } from './disclosure.ts'
import type { Parts } from './parts.ts'
import type { Opened } from './seal.ts'
import type { Privacy } from './token-types.ts'

const UNKNOWN_TYPE: Privacy = {
  classification: 'general',
  impact_level: 'high',
  restriction_policy: 'redact',
}

/** The stored columns that a token shows. */
export type ShownRow = Pick<
  TokenRow,
  | 'id'
  | 'tenant_id'
  | 'type'
  | 'container'
  | 'metadata'
  | 'fingerprint'
  | 'expires_at'
  | 'created_by'
  | 'created_at'
  | 'modified_by'
  | 'modified_at'
>

/** Data for an answer; a mask that cannot be evaluated over the data shows none of it. */
export const shownData = (
  { expressions, types }: Pick<Parts, 'expressions' | 'types'>,
  type: string,
  opened: Opened,
  disclosure: Disclosure,
): Json | undefined => {
  try {
    return disclosedData(expressions, types.get(type), opened, disclosure, 'show')
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_expression') return undefined
    throw error
  }
}

/** What every holder of the token's id may see: neither data nor metadata nor expressions. */
const outline = (parts: Pick<Parts, 'types'>, row: ShownRow): Token => ({
  id: row.id,
  tenant_id: row.tenant_id,
  type: row.type,
  ...(row.fingerprint === null ? {} : { fingerprint: row.fingerprint }),
  containers: [row.container],
  privacy: parts.types.get(row.type)?.privacy ?? UNKNOWN_TYPE,
  ...(row.expires_at === null ? {} : { expires_at: isoTime(row.expires_at) }),
  created_by: row.created_by,
  created_at: isoTime(row.created_at),
  ...(row.modified_by === null ? {} : { modified_by: row.modified_by }),
  ...(row.modified_at === null ? {} : { modified_at: isoTime(row.modified_at) }),
})

/** The token as one caller sees it (completions §5). `fingerprint_expression` is the sent one or the type's default. */
export const present = (
  parts: Pick<Parts, 'types'>,
  row: ShownRow,
  opened: Opened,
  data: Json | undefined,
): Token => {
  const type = parts.types.get(row.type)
  const mask = maskOf(type, opened)
  const fingerprintExpression = opened.fingerprintExpression ?? type?.fingerprint
  return {
    ...outline(parts, row),
    ...(data === undefined ? {} : { data }),
    ...(mask === undefined ? {} : { mask }),
    ...(row.metadata === null ? {} : { metadata: row.metadata }),
    ...(opened.searchIndexes === undefined ? {} : { search_indexes: opened.searchIndexes }),
    ...(fingerprintExpression === undefined ? {} : { fingerprint_expression: fingerprintExpression }),
  }
}

/** The token with the data that `disclosure` allows; an outline for a caller who may not read it. */
export const presentOrOutline = (
  parts: Pick<Parts, 'expressions' | 'types'>,
  row: ShownRow,
  opened: Opened,
  disclosure: Decision,
): Token =>
  disclosure === 'denied'
    ? outline(parts, row)
    : present(parts, row, opened, shownData(parts, row.type, opened, disclosure))
