import { type AppError, invalid } from './errors.ts'

/** Characters of a cursor (completions §3). */
const LENGTH = 500

/** Associated data of a sealed cursor, shaped like a token's. */
interface Bound {
  readonly tenantId: string
  readonly tokenId: string
  readonly type: string
  readonly version: number
  readonly part: 'sealed'
}

/** Data keys of a tenant. */
interface Ring {
  seal(plain: Buffer, bound: Bound): Buffer
  open(sealed: Buffer, bound: Bound): Buffer
}

/** The type is one that no token can have. Positions are sealed because they count rows of all tenants. */
const bound = (tenantId: string, list: string): Bound => ({
  tenantId,
  tokenId: '',
  type: `cursor:${list}`,
  version: 1,
  part: 'sealed',
})

/** Seals a position in a list of a tenant as opaque text. */
export const writeCursor = (
  ring: Ring,
  { tenantId, list }: { readonly tenantId: string; readonly list: string },
  position: readonly number[],
): string => ring.seal(Buffer.from(JSON.stringify(position)), bound(tenantId, list)).toString('base64url')

/** Opens a cursor. Throws `invalid` unless this service issued it for this list and tenant. */
export const readCursor = async (
  keys: { tenant(tenantId: string, sealed?: readonly Buffer[]): Ring | Promise<Ring> },
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
    throw rejected()
  }
}
