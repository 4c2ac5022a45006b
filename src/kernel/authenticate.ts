import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Keys } from '../keys/types.ts'
import type { Credential, CredentialSource } from '../sdk/index.ts'
import type { RecordStore } from '../store/types.ts'
import type { Authenticator } from './types.ts'

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

/** What one source knows, cached while its collections stand still: each source by itself, since sessions change often. */
const createFinder = (
  source: () => CredentialSource | undefined,
  records: AuthenticatorDeps['records'],
  max: number,
) => {
  const cache = new LRUCache<string, Credential>({ max })
  let cachedAt: number | undefined

  return async (hash: string): Promise<Credential | undefined> => {
    const credentials = source()
    if (credentials === undefined) return undefined
    const changes = await records.changes(credentials.collections)
    if (changes !== cachedAt) {
      cache.clear()
      cachedAt = changes
    }
    const cached = cache.get(hash)
    if (cached !== undefined) return cached
    const found = await credentials.authenticate(hash)
    // A change seen by another request meanwhile may be one that this answer does not know of.
    if (found !== undefined && cachedAt === changes) cache.set(hash, found)
    return found
  }
}

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
  const finders = [deps.credentials, deps.sessions ?? (() => undefined)].map((source) =>
    createFinder(source, deps.records, max),
  )

  const find = async (hash: string): Promise<Credential | undefined> => {
    for (const finder of finders) {
      const found = await finder(hash)
      if (found !== undefined) return found
    }
    return undefined
  }

  return {
    authenticate: async (key) => {
      if (key === undefined || key === '')
        throw unauthenticated('This call needs an API key. Send one in the API-KEY header.')
      const credential = key.length > MAX_KEY_LENGTH ? undefined : await find(deps.keys.mac('api-key', key))
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
