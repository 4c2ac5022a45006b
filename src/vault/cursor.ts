import { type AppError, invalid } from '../common/errors.ts'
import type { SealContext, TenantKeys } from '../keys/types.ts'

/** Characters of a cursor (completions §3). */
const LENGTH = 500

/** Sealed like a token, under a type no token can have: positions count all tenants' tokens and concern nobody else. */
const bound = (tenantId: string): SealContext => ({
  tenantId,
  tokenId: '',
  type: 'cursor:tokens',
  version: 1,
  part: 'sealed',
})

/** The opaque position after the token `seq`. */
export const writeCursor = (ring: TenantKeys, tenantId: string, seq: number): string =>
  ring.seal(Buffer.from(String(seq)), bound(tenantId)).toString('base64url')

/** The `seq` a cursor stands for. Throws `invalid` unless this service made it for this tenant. */
export const readCursor = (ring: TenantKeys, tenantId: string, cursor: string): number => {
  const refused = (): AppError => invalid({ start: ['must be the "next" of a page of this list'] })
  if (cursor.length > LENGTH || !/^[\w-]+$/.test(cursor)) throw refused()
  try {
    const seq = Number(ring.open(Buffer.from(cursor, 'base64url'), bound(tenantId)).toString())
    if (Number.isSafeInteger(seq)) return seq
  } catch {
    // Told apart from no other malformed cursor.
  }
  throw refused()
}
