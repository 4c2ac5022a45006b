import { AppError } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import { SEALED_MEMBER } from '../../common/sealed-member.ts'
import type { Session } from '../session.ts'
import { CLOSED, dataVersions } from './statements.ts'

/** A sealed value or MAC starts with its format and the version of its data key (keys/seal.ts). */
const FORMAT = 1
const SMALLEST = 37

const versionOf = (sealed: Uint8Array): number | undefined =>
  sealed.length >= SMALLEST && sealed[0] === FORMAT
    ? new DataView(sealed.buffer, sealed.byteOffset).getUint32(1)
    : undefined

/** Lock between closing or destroying data key versions and writes under them. */
export const keyLock = (tenantId: string): string => `data keys ${tenantId}`

/** The sealed values of a stored record. */
export const sealedIn = (record: unknown): readonly Uint8Array[] =>
  isObject(record) && typeof record[SEALED_MEMBER] === 'string'
    ? [Buffer.from(record[SEALED_MEMBER], 'base64')]
    : []

/**
 * Requires that all values are sealed under data key versions of the tenant that stay in use until the end of the
 * command; others come e.g. from a process that was suspended. Called before the command takes any other lock, in the
 * same order everywhere.
 */
export const requireKeys = async (
  session: Session,
  tenant_id: string,
  sealed: readonly (Uint8Array | null | undefined)[],
): Promise<void> => {
  const wanted = new Set(sealed.flatMap((value) => (value ? (versionOf(value) ?? []) : [])))
  if (wanted.size === 0) return
  // Sent together; the second statement runs once the first holds the lock.
  const [, rows] = await Promise.all([
    session.lock(keyLock(tenant_id), 'shared'),
    session.all(dataVersions, { tenant_id }),
  ])
  const closed = Math.max(0, ...rows.flatMap(({ purpose, version }) => (purpose === CLOSED ? [version] : [])))
  const open = rows.filter(({ purpose, version }) => purpose !== CLOSED && version > closed)
  const usable = new Set(open.map(({ version }) => version))
  if ([...wanted].some((version) => !usable.has(version)))
    throw new AppError(
      'overloaded',
      'The data key of this write was rotated, or its tenant deleted; nothing was written. Retry.',
      { retryAfter: 1 },
    )
}
