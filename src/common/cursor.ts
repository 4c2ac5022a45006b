import { type AppError, invalid } from './errors.ts'

/** Characters of a cursor (completions §3). */
const LENGTH = 500

/** What a cursor is bound to, as a token is. */
interface Bound {
  readonly tenantId: string
  readonly tokenId: string
  readonly type: string
  readonly version: number
  readonly part: 'sealed'
}

/** A tenant's keys. */
interface Ring {
  seal(plain: Buffer, bound: Bound): Buffer
  open(sealed: Buffer, bound: Bound): Buffer
}

/** Under a type that no token can have: positions count what belongs to all tenants, and concern nobody else. */
const bound = (tenantId: string, list: string): Bound => ({
  tenantId,
  tokenId: '',
  type: `cursor:${list}`,
  version: 1,
  part: 'sealed',
})

/** The opaque position in a list of a tenant. */
export const writeCursor = (
  ring: Ring,
  { tenantId, list }: { readonly tenantId: string; readonly list: string },
  position: readonly number[],
): string => ring.seal(Buffer.from(JSON.stringify(position)), bound(tenantId, list)).toString('base64url')

/** The position that a cursor stands for. Throws `invalid` unless this service made it for this list and tenant. */
export const readCursor = async (
  keys: { tenant(tenantId: string, sealed?: readonly Buffer[]): Promise<Ring> },
  { tenantId, list }: { readonly tenantId: string; readonly list: string },
  cursor: string,
): Promise<readonly number[]> => {
  const rejected = (): AppError => invalid({ start: ['must be the "next" of a page of this list'] })
  if (cursor.length > LENGTH || !/^[\w-]+$/.test(cursor)) throw rejected()
  const sealed = Buffer.from(cursor, 'base64url')
  const ring = await keys.tenant(tenantId, [sealed])
  try {
    return JSON.parse(ring.open(sealed, bound(tenantId, list)).toString()) as number[]
  } catch {
    // Told apart from no other malformed cursor.
    throw rejected()
  }
}
