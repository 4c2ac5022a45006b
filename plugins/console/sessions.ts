import { newKey } from '#kit'
import {
  AppError,
  type Caller,
  type ConsoleSession,
  type Credential,
  newId,
  type PluginContext,
  type Ports,
  Secret,
} from '#sdk'
import { type ConsoleSessionRecord, ConsoleSessions } from './collections.ts'

/** ms without use after which a session ends, and ms after which it ends in any case. */
const IDLE_MS = 30 * 60_000
const MAX_AGE_MS = 8 * 3_600_000
/** ms within which a session's use is written once. */
const RENEW_MS = 60_000

const KINDS = ['management', 'private'] as const
type Kind = (typeof KINDS)[number]

const lifeAt = (created_at: number, last_seen: number) => ({
  created_at,
  last_seen,
  expires_at: Math.min(created_at + MAX_AGE_MS, last_seen + IDLE_MS),
})

/** Key kind, application and key id of a caller that may sign in. Throws `forbidden` for others. */
const keyOf = ({ actorType, actorId, applicationType, keyId }: Caller) => {
  const kind = KINDS.find((each) => each === applicationType)
  if (actorType !== 'application' || kind === undefined || keyId === undefined)
    throw new AppError(
      'forbidden',
      'The console takes the keys of management and private applications. Sign in with one of these.',
    )
  return { kind, key: { application_id: actorId, key_id: keyId } }
}

/** The port of console sessions: transports find them by the hash of their cookie's secret. */
export const consoleSessions = (context: PluginContext): Ports['console'] => {
  const records = () => context.records(ConsoleSessions)

  const credentialOf = async (
    tenantId: string,
    key: ConsoleSessionRecord[Kind],
  ): Promise<Credential | undefined> =>
    key && context.port('applications')?.credential(tenantId, key.application_id, key.key_id)

  const sessionOf = async (tenantId: string, record: ConsoleSessionRecord): Promise<ConsoleSession> => {
    const credentials = await Promise.all(KINDS.map((kind) => credentialOf(tenantId, record[kind])))
    return {
      tenantId,
      id: record.id,
      actorId: (record.management ?? record.private)?.application_id ?? '',
      credentials: credentials.filter((credential) => credential !== undefined),
      renewsAt: record.last_seen + RENEW_MS,
      idleExpiresAt: record.expires_at,
      expiresAt: record.created_at + MAX_AGE_MS,
    }
  }

  return {
    // Collections of the plugin "applications", through its port.
    collections: [ConsoleSessions.name, 'applications', 'application_keys'],

    find: async (secretHash) => {
      const entry = await records().lookup('secret_hash', secretHash)
      return entry && sessionOf(entry.tenantId, entry.record)
    },

    signIn: async (caller, former, traceId) => {
      const { kind, key } = keyOf(caller)
      const { tenantId, actorId } = caller
      if (former !== undefined && former.tenantId !== tenantId)
        throw new AppError('conflict', 'The session has a key of another tenant. Sign out first.')
      const current = former && (await records().get(tenantId, former.id))
      const other = kind === 'management' ? 'private' : 'management'
      const isAdding = current?.[other] !== undefined
      const secret = newKey('con_')
      const now = context.clock.now()
      const record: ConsoleSessionRecord = {
        id: newId(),
        secret_hash: context.hashKey(new Secret(secret)),
        ...(isAdding ? { [other]: current[other] } : {}),
        [kind]: key,
        ...lifeAt(isAdding ? current.created_at : now, now),
      }
      await context.commit([
        ...(current === undefined ? [] : [records().deleteMutation(tenantId, current.id)]),
        records().insertMutation(tenantId, record),
      ])
      const message = `Console session created (${isAdding ? `${kind} key added` : `${kind} key`})`
      await context.audit(
        { entity: 'console_session', id: record.id, operation: 'create', message },
        { caller, traceId },
      )
      context.log.info(
        { trace_id: traceId, tenant_id: tenantId, actor_id: actorId, session: record.id },
        'console session created',
      )
      return new Secret(secret)
    },

    renew: async ({ tenantId, id }) => {
      const now = context.clock.now()
      try {
        await records().update(tenantId, id, (current) =>
          now < current.last_seen + RENEW_MS || current.expires_at <= now
            ? current
            : { ...current, ...lifeAt(current.created_at, now) },
        )
      } catch (err) {
        context.log.warn({ err, session: id }, 'console session not renewed; the next call retries')
      }
    },

    end: async ({ tenantId, id, actorId }, why, traceId) => {
      if (!(await records().delete(tenantId, id))) return
      const caller = { tenantId, actorId, actorType: 'application' }
      const message = `Console session deleted (${why})`
      await context.audit(
        { entity: 'console_session', id, operation: 'delete', message },
        { caller, traceId },
      )
      context.log.info(
        { trace_id: traceId, tenant_id: tenantId, actor_id: actorId, session: id, why },
        'console session ended',
      )
    },
  }
}
