import { isAuthorized } from '../../access/authorize.ts'
import type { Clock } from '../../common/clock.ts'
import { AppError } from '../../common/errors.ts'
import { type Eventual, whenReady } from '../../common/eventual.ts'
import type { Keys } from '../../keys/types.ts'
import type { Caller, Credential, CredentialSource, Ports } from '../../sdk/index.ts'
import type { RecordStore } from '../../store/records/types.ts'
import { createCachedLookup } from '../services/cached-lookup.ts'
import { createKeyHash } from '../services/key-hash.ts'
import type { Authenticator } from '../types.ts'
import { createConsoleLookup } from './console-sessions.ts'

interface AuthenticatorDeps {
  readonly keys: Pick<Keys, 'mac'>
  readonly records: Pick<RecordStore, 'changes'>
  readonly clock: Clock
  /** Ports that no plugin provides know nothing. */
  readonly ports: () => Readonly<
    Partial<Pick<Ports, 'credentials' | 'sessions' | 'applications' | 'console'>>
  >
}

interface AuthenticatorOptions {
  /** Cached credentials; the least recently used one is dropped first. */
  readonly cacheSize?: number
}

const unauthenticated = (detail: string) => new AppError('unauthenticated', detail)

/**
 * Finds callers: by the keyed hash of an API key, and by id for work that an application does itself. Credentials are
 * cached while the change counters of their collections stand still, so an acknowledged change (a key deleted or
 * replaced, a permission removed) holds for the next request. Unknown keys are never cached.
 */
export const createAuthenticator = (
  { keys, records, clock, ports }: AuthenticatorDeps,
  options: AuthenticatorOptions = {},
): Authenticator => {
  const max = options.cacheSize ?? 10_000
  const hashOf = createKeyHash(keys)
  // Each source by itself, since sessions change often.
  const lookups = (['credentials', 'sessions'] as const).map((name) =>
    createCachedLookup<CredentialSource, Credential>(
      () => ports()[name],
      (port, hash) => port.authenticate(hash),
      { changes: ({ collections }) => records.changes(collections), max },
    ),
  )

  const find = (hash: string, from = 0): Eventual<Credential | undefined> => {
    const lookup = lookups[from]
    if (lookup === undefined) return undefined
    return whenReady(lookup.find(hash), (credential) => credential ?? find(hash, from + 1))
  }

  /** The one place that decides whether the owner of a credential may call at all. */
  const callerOf = (credential: Credential | undefined, otherwise: string): Caller => {
    const { caller, expiresAt, pending } = credential ?? {}
    if (caller === undefined || (expiresAt !== undefined && expiresAt <= clock.now()))
      throw unauthenticated(otherwise)
    if (pending)
      throw new AppError(
        'forbidden',
        'This session has not been authorized yet. Authorize it with its nonce and the key of a private application.',
      )
    return caller
  }

  const consoleSession = createConsoleLookup({ records, clock, ports, hashOf })

  return {
    consoleSession,

    authenticate: (key, permission = 'any key') => {
      if (typeof key === 'object')
        return consoleSession(key).then(
          ({ callers }) => callers.find((caller) => isAuthorized(caller, permission)) ?? callers[0],
        )
      if (key === undefined || key === '')
        throw unauthenticated(
          'This call needs an API key. Send one in the header <prefix>-API-KEY; the prefix is SVC unless this service has another.',
        )
      const hash = hashOf(key)
      return whenReady(hash === undefined ? undefined : find(hash), (credential) =>
        callerOf(credential, 'The API key is unknown, expired, deleted or replaced. Send a valid one.'),
      )
    },

    identify: async ({ tenantId, id }) => {
      const missing = `The application "${id.slice(0, 100)}", which this code acts as, was deleted or has expired. Set another one.`
      const caller = callerOf(await ports().applications?.credential(tenantId, id), missing)
      if (caller.applicationType === 'management') throw unauthenticated(missing)
      return caller
    },
  }
}
