import { AppError } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import { SEALED_MEMBER } from '../../common/sealed-member.ts'
import type { Session } from '../session.ts'
import { CLOSED, dataVersions } from '../tenants/statements.ts'

/** A sealed value or MAC begins with its format and the version of its data key (keys/seal.ts); no shorter value is one. */
const FORMAT = 1
const SMALLEST = 37

const versionOf = (sealed: Uint8Array): number | undefined =>
  sealed.length >= SMALLEST && sealed[0] === FORMAT
    ? new DataView(sealed.buffer, sealed.byteOffset).getUint32(1)
    : undefined

/** Who closes or destroys versions of a tenant's data key waits for those who write under them. */
export const keyLock = (tenantId: string): string => `data keys ${tenantId}`

/** What of a record, as it is stored, is sealed. */
export const sealedIn = (record: unknown): readonly Uint8Array[] =>
  isObject(record) && typeof record[SEALED_MEMBER] === 'string'
    ? [Buffer.from(record[SEALED_MEMBER], 'base64')]
    : []

/**
 * True when all these values are sealed under versions of the tenant's data key that are in use to the end of the command.
 * Asked before the command holds anything else, in one order everywhere.
 */
export const keysHold = async (
  session: Session,
  tenant_id: string,
  sealed: readonly (Uint8Array | null | undefined)[],
): Promise<boolean> => {
  const wanted = new Set(sealed.flatMap((value) => (value ? (versionOf(value) ?? []) : [])))
  if (wanted.size === 0) return true
  // Sent together: the second is read when the first is held.
  const [, rows] = await Promise.all([
    session.lock(keyLock(tenant_id), 'shared'),
    session.all(dataVersions, { tenant_id }),
  ])
  const closed = Math.max(0, ...rows.flatMap(({ purpose, version }) => (purpose === CLOSED ? [version] : [])))
  const open = rows.filter(({ purpose, version }) => purpose !== CLOSED && version > closed)
  const usable = new Set(open.map(({ version }) => version))
  return [...wanted].every((version) => usable.has(version))
}

/** Refuses to write what would not open any more: a process that slept may come with a key that was destroyed meanwhile. */
export const requireKeys = async (...of: Parameters<typeof keysHold>): Promise<void> => {
  if (!(await keysHold(...of)))
    throw new AppError(
      'overloaded',
      'The key under which this was sealed has been replaced meanwhile, or its tenant deleted; nothing was written. Retry.',
      { retryAfter: 1 },
    )
}
