import { exceeds, newKey, parseIsoTime, randomBase58 } from '#kit'
import {
  AppError,
  type Call,
  defineOperation,
  Empty,
  invalid,
  isoTime,
  newId,
  type PluginContext,
  Secret,
  Type,
} from '#sdk'
import { type SessionRecord, Sessions } from './collections.ts'
import type { SessionOptions } from './credentials.ts'
import * as examples from './examples.ts'
import { parseGrants } from './grants.ts'
import { AuthorizeInput, SessionOutput } from './schemas.ts'

/** Default lifetime of a session (interface, "Limits"), ms. */
const LIFETIME = 3 * 60_000
/** Longest lifetime from its authorization on (completions §9), hours. */
const MAX_HOURS = 24
/** Characters of a nonce: 187 bits. */
const NONCE_LENGTH = 32

const noSession = () =>
  new AppError(
    'session_not_found',
    'There is no session to authorize with this nonce: it is unknown, or the session has expired. Create a session.',
  )

/** The id of the changed session: for the audit record, not in the response. */
const idOf = (_call: Call, _input: unknown, output: unknown): string => (output as { id: string }).id

/** Operations that create and authorize sessions (interface, "Sessions"). */
export const sessionOperations = (context: PluginContext, { within }: SessionOptions) => {
  const sessions = () => context.records(Sessions)

  const expiryOf = (text: string | null | undefined, now: number): { expires_at?: number } => {
    if (typeof text !== 'string') return {}
    const expires_at = parseIsoTime(text)
    if (expires_at === undefined)
      throw invalid({ expires_at: ['must be an ISO 8601 date-time, e.g. 2030-01-31T12:00:00Z'] })
    if (expires_at <= now) throw invalid({ expires_at: ['must lie in the future'] })
    if (expires_at > now + MAX_HOURS * 3_600_000)
      throw invalid({ expires_at: [`must be at most ${MAX_HOURS} hours from now: sessions live no longer`] })
    return { expires_at }
  }

  return [
    defineOperation({
      rpc: 'Sessions.Create',
      http: 'POST /sessions',
      summary: 'Create a session for the calling public application',
      description: 'The session may do nothing until a private application has authorized its nonce.',
      permission: 'public key',
      audit: { entity: 'session', verb: 'create', id: idOf },
      input: Type.Object({}),
      output: SessionOutput,
      status: 201,
      location: () => '/sessions',
      examples: examples.create,
      run: async (_input, { caller, now }) => {
        const session_key = newKey('key_sess_')
        const nonce = randomBase58(NONCE_LENGTH)
        const session: SessionRecord = {
          id: newId(),
          application_id: caller.actorId,
          key_hash: context.hashKey(new Secret(session_key)),
          nonce_hash: context.hashKey(new Secret(nonce)),
          permissions: [],
          rules: [],
          expires_at: now + LIFETIME,
          created_by: caller.actorId,
          created_at: now,
        }
        await sessions().insert(caller.tenantId, session)
        const response = { id: session.id, session_key, nonce, expires_at: isoTime(session.expires_at) }
        return response
      },
    }),
    defineOperation({
      rpc: 'Sessions.Authorize',
      http: 'POST /sessions/authorize',
      summary: 'Grant permissions or access rules to a session, once',
      permission: 'private key',
      audit: { entity: 'session', verb: 'authorize', id: idOf },
      input: AuthorizeInput,
      output: Empty,
      errors: ['session_not_found'],
      examples: examples.authorize,
      run: async (input, { caller, now }) => {
        const grants = parseGrants(input, context.permissions())
        const expiry = expiryOf(input.expires_at, now)
        const entry = await sessions().lookup('nonce_hash', context.hashKey(new Secret(input.nonce)))
        if (entry === undefined || entry.tenantId !== caller.tenantId) throw noSession()
        const places = within ? exceeds(caller.grants, grants) : []
        if (places.length > 0)
          throw new AppError(
            'forbidden',
            `The grant goes beyond what the calling application may do itself (${[...new Set(places)].join(', ')}). Grant less, or use the key of an application that may do it.`,
          )
        const session = await sessions().update(caller.tenantId, entry.record.id, (current) => {
          if (current.expires_at <= now) throw noSession()
          if (current.authorized_at !== undefined)
            throw new AppError(
              'conflict',
              'The session of this nonce has been authorized already. Create another session.',
              { conflictWith: 'state' },
            )
          return {
            ...current,
            ...grants,
            ...expiry,
            authorized_by: caller.actorId,
            ...(caller.keyId === undefined ? {} : { authorized_key: caller.keyId }),
            authorized_at: now,
          }
        })
        if (session === undefined) throw noSession()
        return { id: session.id }
      },
    }),
  ]
}
