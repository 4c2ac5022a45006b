import { AppError } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import { SEALED_MEMBER as SEALED } from '../common/sealed-member.ts'
import type { Keys, SealContext, TenantKeys } from '../keys/types.ts'
import type { Collection, Mutation } from '../sdk/index.ts'
import type { RecordRow } from '../store/types.ts'

/** A record of another collection, tenant or id does not open. No token type has a colon in its name. */
const bound = (collection: string, tenantId: string, id: string): SealContext => ({
  tenantId,
  tokenId: id,
  type: `record:${collection}`,
  version: 1,
  part: 'sealed',
})

/** A change as it is stored: members that the collection keeps sealed are one sealed member. */
export const sealMutation = async (
  keys: Pick<Keys, 'tenant'>,
  collection: Collection,
  mutation: Mutation,
): Promise<Mutation> => {
  const { record } = mutation
  const members = collection.sealed ?? []
  if (members.length === 0 || !isObject(record)) return mutation
  const entries = Object.entries(record)
  const secret = entries.filter(([name]) => members.includes(name))
  if (secret.length === 0) return mutation
  const ring = await keys.tenant(mutation.tenantId)
  const sealed = ring.seal(
    Buffer.from(JSON.stringify(Object.fromEntries(secret))),
    bound(collection.name, mutation.tenantId, mutation.id),
  )
  const open = entries.filter(([name]) => !members.includes(name))
  return { ...mutation, record: { ...Object.fromEntries(open), [SEALED]: sealed.toString('base64') } }
}

/** The record of a row, with its sealed members. */
export const openRecord = async (
  keys: Pick<Keys, 'tenant'>,
  collection: Collection,
  tenantId: string,
  { id, record }: Pick<RecordRow, 'id' | 'record'>,
): Promise<unknown> => {
  if (!isObject(record) || typeof record[SEALED] !== 'string') return record
  const { [SEALED]: text, ...rest } = record
  const sealed = Buffer.from(String(text), 'base64')
  const ring = await keys.tenant(tenantId, [sealed])
  try {
    const secret = JSON.parse(ring.open(sealed, bound(collection.name, tenantId, id)).toString()) as object
    return { ...rest, ...secret }
  } catch (cause) {
    throw new AppError(
      'internal',
      'A stored record could not be opened. Ask the operator to look up the trace id.',
      { cause },
    )
  }
}

/**
 * The stored form of a record (JSON) with its sealed members under the newest key; undefined when it has none or they
 * are. `isCurrent`: what needs no new seal.
 */
export const resealRecord = (
  ring: TenantKeys,
  body: string,
  {
    collection,
    tenantId,
    id,
  }: { readonly collection: string; readonly tenantId: string; readonly id: string },
  isCurrent: (sealed: Buffer) => boolean,
): string | undefined => {
  const record: unknown = JSON.parse(body)
  if (!isObject(record) || typeof record[SEALED] !== 'string') return undefined
  const sealed = Buffer.from(record[SEALED], 'base64')
  if (isCurrent(sealed)) return undefined
  const context = bound(collection, tenantId, id)
  const fresh = ring.seal(ring.open(sealed, context), context)
  return JSON.stringify({ ...record, [SEALED]: fresh.toString('base64') })
}
