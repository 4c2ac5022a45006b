import type { Clock } from '../../common/clock.ts'
import { AppError } from '../../common/errors.ts'
import type { Keys } from '../../keys/types.ts'
import type { ApplicationRef, Caller, Credential, CredentialSource, Ports } from '../../sdk/index.ts'
import type { RecordStore } from '../../store/types.ts'
import { createCachedLookup } from '../services/cached-lookup.ts'
import { createKeyHash } from '../services/key-hash.ts'
import type { Authenticator } from '../types.ts'

/** Characters of a key beyond which it is nobody's, and is not hashed. */
const MAX_KEY_LENGTH = 200

export interface AuthenticatorDeps {
  readonly keys: Pick<Keys, 'mac'>
  readonly records: Pick<RecordStore, 'changes'>
  readonly clock: Clock
  /** Undefined when no plugin provides it: then every key is unknown. */
  readonly credentials: () => CredentialSource | undefined
  /** Asked for keys that `credentials` does not know. */
  readonly sessions?: () => CredentialSource | undefined
}

export interface AuthenticatorOptions {
  /** Credentials kept; the least recently used one goes first. */
  readonly cacheSize?: number
}

const unauthenticated = (detail: string) => new AppError('unauthenticated', detail)

/**
 * Finds the caller of an API key by the key's keyed hash. Credentials found are cached while the change counters of
 * their collections stand still, so what an answer has acknowledged (a key deleted, replaced, a permission taken away)
 * holds for the next request. Unknown keys are never cached.
 */
export const createAuthenticator = (
  deps: AuthenticatorDeps,
  options: AuthenticatorOptions = {},
): Authenticator => {
  const max = options.cacheSize ?? 10_000
  const hashOf = createKeyHash(deps.keys)
  // Each source by itself, since sessions change often.
  const lookups = [deps.credentials, deps.sessions ?? (() => undefined)].map((source) =>
    createCachedLookup(source, (port, hash) => port.authenticate(hash), {
      changes: ({ collections }) => deps.records.changes(collections),
      max,
    }),
  )

  const find = async (hash: string): Promise<Credential | undefined> => {
    for (const lookup of lookups) {
      const found = await lookup.find(hash)
      if (found !== undefined) return found
    }
    return undefined
  }

  return {
    authenticate: async (key) => {
      if (key === undefined || key === '')
        throw unauthenticated('This call needs an API key. Send one in the API-KEY header.')
      const credential = key.length > MAX_KEY_LENGTH ? undefined : await find(hashOf(key))
      if (
        credential === undefined ||
        (credential.expiresAt !== undefined && credential.expiresAt <= deps.clock.now())
      )
        throw unauthenticated('The API key is unknown, expired, deleted or replaced. Send a valid one.')
      if (credential.unauthorized)
        throw new AppError(
          'forbidden',
          'This session has not been authorized yet. Authorize it with its nonce and the key of a private application.',
        )
      return credential.caller
    },
  }
}

/**
 * The caller that a tenant's code works as: an application as it is now. `unauthenticated` when it was deleted or has
 * expired; management applications are nobody's hands.
 */
export const createIdentify =
  (applications: () => Ports['applications'] | undefined, clock: Clock) =>
  async ({ tenantId, id }: ApplicationRef): Promise<Caller> => {
    const application = await applications()?.get(tenantId, id)
    const expired = application?.expires_at !== undefined && application.expires_at <= clock.now()
    if (application === undefined || expired || application.type === 'management')
      throw unauthenticated(
        `The application "${id.slice(0, 100)}", which this code works as, is deleted or expired. Give it another one.`,
      )
    const { type, permissions, rules } = application
    return {
      tenantId,
      actorId: id,
      actorType: 'application',
      applicationId: id,
      applicationType: type,
      grants: { permissions, rules },
    }
  }
