import { eachRecord, exceeds } from '#kit'
import type { Credential, DestinationList, PluginContext, Ports } from '#sdk'
import { type SessionRecord, Sessions } from './collections.ts'

export interface SessionOptions {
  /** Whether a grant must lie within what the authorizing application may do itself. */
  readonly within: boolean
}

/** Services that a session depends on. */
interface Life {
  /**
   * End, ms since the epoch: at most that of its application, and of the application and the key that authorized it.
   */
  readonly until: number
  /** Lists of both applications: of the authorizing one while grants must lie within its own. */
  readonly destinations: readonly DestinationList[]
  /** Of its application. */
  readonly name: string | undefined
  readonly origins: readonly string[] | undefined
}

/** The part of the port of the plugin "applications" that the life of a session depends on. */
type Applications = Pick<Ports['applications'], 'credential'>

/**
 * Undefined: it has ended, because an application or key was deleted, or the authorizing one no longer holds what it
 * granted.
 */
export const createLifeOf =
  (applications: () => Applications | undefined, { within }: SessionOptions) =>
  async (tenantId: string, session: SessionRecord): Promise<Life | undefined> => {
    const port = applications()
    const { application_id, authorized_by, authorized_key } = session
    const [application, authority] = await Promise.all([
      port?.credential(tenantId, application_id),
      authorized_by === undefined || authorized_key === undefined
        ? undefined
        : port?.credential(tenantId, authorized_by, authorized_key),
    ])
    if (application === undefined) return undefined
    const until = Math.min(session.expires_at, application.expiresAt ?? session.expires_at)
    const { applicationName: name, allowedOrigins: origins } = application.caller
    const { destinations = [] } = application.caller.grants
    if (authorized_by === undefined) return { until, destinations, name, origins }
    if (authority === undefined || (within && exceeds(authority.caller.grants, session).length > 0))
      return undefined
    return {
      name,
      origins,
      until: Math.min(until, authority.expiresAt ?? until),
      destinations: [...destinations, ...((within && authority.caller.grants.destinations) || [])],
    }
  }

export type LifeOf = ReturnType<typeof createLifeOf>

/** Looks up each credential once: many sessions depend on few applications and keys. */
const remembering = ({ credential }: Applications): Applications => {
  const known = new Map<string, ReturnType<Applications['credential']>>()
  return {
    credential: (...path) => {
      const key = path.join(' ')
      const reading = known.get(key) ?? credential(...path)
      known.set(key, reading)
      return reading
    },
  }
}

const credentialOf = (
  tenantId: string,
  { id, application_id, authorized_by, permissions, rules }: SessionRecord,
  { until, destinations, name, origins }: Life,
): Credential => ({
  caller: {
    tenantId,
    actorId: id,
    actorType: 'session',
    applicationId: application_id,
    ...(name === undefined ? {} : { applicationName: name }),
    applicationType: 'public',
    ...(origins === undefined ? {} : { allowedOrigins: origins }),
    ...(authorized_by === undefined ? {} : { authorizedBy: authorized_by }),
    grants: { permissions, rules, ...(destinations.length === 0 ? {} : { destinations }) },
  },
  expiresAt: until,
})

/** The port with which the kernel finds the session of a key. */
export const sessionCredentials = (
  context: PluginContext,
  lifeOf: LifeOf,
  options: SessionOptions,
): Ports['sessions'] => ({
  // Collections of the plugin "applications", through its port.
  collections: [Sessions.name, 'applications', 'application_keys'],

  authenticate: async (keyHash) => {
    const entry = await context.records(Sessions).lookup('key_hash', keyHash)
    if (entry === undefined) return undefined
    const { tenantId, record: session } = entry
    const life = await lifeOf(tenantId, session)
    if (life === undefined) return undefined
    return {
      ...credentialOf(tenantId, session, life),
      ...(session.authorized_at === undefined ? { pending: true } : {}),
    }
  },

  authorized: async function* (tenantId, now, where) {
    const port = context.port('applications')
    const applications = port && remembering(port)
    const lifeInCall = createLifeOf(() => applications, options)
    for await (const session of eachRecord(context.records(Sessions), tenantId)) {
      if (session.authorized_at === undefined || session.expires_at <= now || !where(session)) continue
      const life = await lifeInCall(tenantId, session)
      if (life !== undefined && life.until > now) yield credentialOf(tenantId, session, life)
    }
  },
})
