import { AppError } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import { parseJson } from '../../common/parse-json.ts'
import { endOf, nameOf, textMember } from '../../common/record-members.ts'
import { SEALED_MEMBER as SEALED } from '../../common/sealed-member.ts'
import type { Keys, SealContext, TenantKeys } from '../../keys/types.ts'
import type { Collection, Mutation } from '../../sdk/index.ts'
import type { RecordRow, StoredMutation } from '../../store/records/types.ts'

/** The identity of a record, which its seal and its MAC are bound to. */
interface RecordName {
  readonly collection: string
  readonly tenantId: string
  readonly id: string
}

/** A record of another collection, tenant or id does not open. No token type has a colon in its name. */
const bound = ({ collection, tenantId, id }: RecordName): SealContext => ({
  tenantId,
  tokenId: id,
  type: `record:${collection}`,
  version: 1,
  part: 'sealed',
})

/** The input of a record's MAC; `body` is the stored text. */
const macParts = ({ collection, tenantId, id }: RecordName, version: number, body: string) => [
  'record',
  collection,
  tenantId,
  id,
  String(version),
  body,
]

/** Called for each rejected row, to log and count it. */
export type OnRejected = (row: RecordName) => void

/** Throws for a row that this service did not write, or not last. */
export const rejectRecord = (name: RecordName, onRejected: OnRejected, cause?: unknown): never => {
  onRejected(name)
  throw new AppError(
    'internal',
    'A stored record was altered outside the service. Give the trace id to the operator.',
    { cause },
  )
}

const shapeOf = ({
  name,
  indexes = [],
  lookups = [],
  tokens,
  expires,
  hosts,
  origins,
}: Collection): StoredMutation['shape'] => ({
  name,
  indexes,
  lookups,
  ...(hosts === undefined ? {} : { hosts }),
  ...(origins === undefined ? {} : { origins }),
  ...(tokens === undefined ? {} : { tokens }),
  ...(expires === undefined ? {} : { expires }),
})

/** The record as it is stored: its sealed members are one sealed member. */
const sealedRecord = (ring: TenantKeys, { sealed = [] }: Collection, name: RecordName, record: unknown) => {
  if (!isObject(record)) return record
  const [secret, open] = [true, false].map((retained) =>
    Object.entries(record).filter(([member]) => sealed.includes(member) === retained),
  ) as [[string, unknown][], [string, unknown][]]
  if (secret.length === 0) return record
  const bytes = ring.seal(Buffer.from(JSON.stringify(Object.fromEntries(secret))), bound(name))
  return { ...Object.fromEntries(open), [SEALED]: bytes.toString('base64') }
}

/** Terms do not change with the data key, so that equal values stay equal. */
const uniqueTerms = (ring: TenantKeys, { name, unique = [] }: Collection, record: unknown) =>
  Object.fromEntries(
    unique.flatMap((member) => {
      const value = textMember(record, member)
      return value === undefined ? [] : [[member, ring.term(`${name} ${member} ${value}`).toString('base64')]]
    }),
  )

/** A change as it is stored, with the MAC of the changed record. */
export const sealMutation = async (
  keys: Pick<Keys, 'tenant'>,
  collection: Collection,
  mutation: Mutation,
): Promise<StoredMutation> => {
  const { kind, version, record } = mutation
  const shape = shapeOf(collection)
  if (kind === 'delete') return { ...mutation, shape }
  if (kind === 'replace' && version === undefined)
    throw new Error(`a record of "${shape.name}" is replaced without the version that was read`)
  const ring = await keys.tenant(mutation.tenantId)
  const stored = sealedRecord(ring, collection, mutation, record)
  const next = kind === 'insert' ? 1 : Number(version) + 1
  const mac = ring.mac(...macParts(mutation, next, JSON.stringify(stored)))
  const unique = collection.unique ? { unique: uniqueTerms(ring, collection, record) } : {}
  return { ...mutation, record: stored, shape, mac, ...unique }
}

/**
 * Opens the record of a row, with its sealed members. A row without a valid MAC, or with columns that differ from its
 * body, is rejected with `internal` and reported.
 */
export const openRecord = async (
  keys: Pick<Keys, 'tenant'>,
  collection: Collection,
  tenantId: string,
  row: RecordRow,
  onRejected: OnRejected,
): Promise<unknown> => {
  const { id, version, body, mac } = row
  const name = { collection: collection.name, tenantId, id }
  const ring = await keys.tenant(tenantId, mac === null ? [] : [mac])
  if (mac === null || !ring.verifies(mac, ...macParts(name, version, body))) rejectRecord(name, onRejected)
  const record: unknown = parseJson(body)
  if (nameOf(record) !== row.name || endOf(record, collection.expires) !== row.expires_at)
    rejectRecord(name, onRejected)
  if (!isObject(record) || typeof record[SEALED] !== 'string') return record
  const { [SEALED]: text, ...rest } = record
  const sealed = Buffer.from(String(text), 'base64')
  const opening = await keys.tenant(tenantId, [sealed])
  try {
    const secret = parseJson(opening.open(sealed, bound(name)).toString()) as object
    return { ...rest, ...secret }
  } catch (cause) {
    return rejectRecord(name, onRejected, cause)
  }
}

/** A stored record under the newest key, or undefined when it is. Throws when its MAC is not valid. */
export const resealRecord = (
  ring: TenantKeys,
  name: RecordName,
  { version, body, mac }: Pick<RecordRow, 'version' | 'body'> & { readonly mac: Buffer | null },
): { readonly body: string; readonly mac: Buffer } | undefined => {
  if (mac === null || !ring.verifies(mac, ...macParts(name, version, body)))
    throw new AppError('internal', 'A stored record has no valid MAC.')
  const record: unknown = parseJson(body)
  const text = isObject(record) ? record[SEALED] : undefined
  const sealed = typeof text === 'string' ? Buffer.from(text, 'base64') : undefined
  const stale = sealed !== undefined && !ring.isCurrent(sealed)
  if (!stale && ring.isCurrent(mac)) return undefined
  const fresh = stale
    ? JSON.stringify({
        ...(record as object),
        [SEALED]: ring.seal(ring.open(sealed, bound(name)), bound(name)).toString('base64'),
      })
    : body
  return { body: fresh, mac: ring.mac(...macParts(name, version, fresh)) }
}
