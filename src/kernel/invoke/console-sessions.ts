import type { Clock } from '../../common/clock.ts'
import { AppError } from '../../common/errors.ts'
import { traceIdFor } from '../../common/trace-id.ts'
import type { ConsoleSession, ConsoleSessions, Ports } from '../../sdk/index.ts'
import type { RecordStore } from '../../store/records/types.ts'
import { createCachedLookup } from '../services/cached-lookup.ts'
import type { Authenticator } from '../types.ts'

/** Cached sessions: people, not programs. */
const CACHED = 1_000

const ended = () =>
  new AppError('unauthenticated', 'There is no console session, or it has ended. Sign in at /console/.')

/**
 * Finds console sessions by the secret of their cookie, cached as credentials are. Each call judges the ends of session
 * and keys again. A session that a call finds at its end is deleted, so that its end has a record.
 */
export const createConsoleLookup = ({
  records,
  clock,
  ports,
  hashOf,
}: {
  readonly records: Pick<RecordStore, 'changes'>
  readonly clock: Clock
  readonly ports: () => Readonly<Partial<Pick<Ports, 'console'>>>
  readonly hashOf: (secret: string) => string | undefined
}): Authenticator['consoleSession'] => {
  const lookup = createCachedLookup<ConsoleSessions, ConsoleSession>(
    () => ports().console,
    (port, hash) => port.find(hash),
    { changes: ({ collections }) => records.changes(collections), max: CACHED },
  )
  return async ({ secret, isUse }) => {
    const hash = secret === undefined ? undefined : hashOf(secret)
    const session = hash === undefined ? undefined : await lookup.find(hash)
    const port = ports().console
    if (session === undefined || port === undefined) throw ended()
    const now = clock.now()
    const end = async (why: string): Promise<never> => {
      // It has ended either way; the next call tries again to delete it.
      await port.end(session, why, traceIdFor(undefined)).catch(() => {})
      throw ended()
    }
    if (session.expiresAt <= now) return end('after its longest time')
    if (session.idleExpiresAt <= now) return end('idle')
    const [first, ...others] = session.credentials
      .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
      .map(({ caller }) => caller)
    if (first === undefined) return end('its keys have ended')
    if (isUse && session.renewsAt <= now) await port.renew(session)
    return { ...session, callers: [first, ...others] }
  }
}
