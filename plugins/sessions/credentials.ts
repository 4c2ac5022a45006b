import { exceeds } from '#kit'
import type { PluginContext, Ports } from '#sdk'
import { type SessionRecord, Sessions } from './collections.ts'

export interface SessionOptions {
  /** Whether a grant must lie within what the authorizing application may do itself. */
  readonly within: boolean
}

/**
 * End of a session, ms since the epoch: at most that of its application, and of the application and the key that authorized it.
 * Undefined: it has ended, because one of them was deleted, or the authorizing application no longer holds what it granted.
 */
export const createLifeOf =
  (kernel: PluginContext, { within }: SessionOptions) =>
  async (tenantId: string, session: SessionRecord): Promise<number | undefined> => {
    const port = kernel.port('applications')
    const { application_id, authorized_by, authorized_key } = session
    const [application, authority, hasKey] = await Promise.all([
      port?.credential(tenantId, application_id),
      authorized_by === undefined ? undefined : port?.credential(tenantId, authorized_by),
      authorized_by !== undefined && authorized_key !== undefined
        ? port?.hasKey(tenantId, authorized_by, authorized_key)
        : false,
    ])
    if (application === undefined) return undefined
    const until = Math.min(session.expires_at, application.expiresAt ?? session.expires_at)
    if (authorized_by === undefined) return until
    if (
      authority === undefined ||
      !hasKey ||
      (within && exceeds(authority.caller.grants, session).length > 0)
    )
      return undefined
    return Math.min(until, authority.expiresAt ?? until)
  }

export type LifeOf = ReturnType<typeof createLifeOf>

/** The port with which the kernel finds the session of a key. */
export const sessionCredentials = (kernel: PluginContext, lifeOf: LifeOf): Ports['sessions'] => ({
  // Collections of the plugin "applications", through its port.
  collections: [Sessions.name, 'applications', 'application_keys'],

  authenticate: async (keyHash) => {
    const found = await kernel.records(Sessions).lookup('key_hash', keyHash)
    if (found === undefined) return undefined
    const { tenantId, record: session } = found
    const expiresAt = await lifeOf(tenantId, session)
    if (expiresAt === undefined) return undefined
    return {
      caller: {
        tenantId,
        actorId: session.id,
        actorType: 'session',
        applicationId: session.application_id,
        applicationType: 'public',
        grants: { permissions: session.permissions, rules: session.rules },
      },
      expiresAt,
      ...(session.authorized_at === undefined ? { unauthorized: true } : {}),
    }
  },
})
