import { randomBytes } from 'node:crypto'
import { AppError } from '../common/errors.ts'
import { Secret } from '../common/secret.ts'
import type { KeyProvider, KeyProviderContext } from '../sdk/key-provider.ts'
import type { KeyRow } from '../store/keys/types.ts'
import { WRAPPED_ROOT } from './root-key-rows.ts'

/** First byte of the row. Rows wrapped by a root key have format 1 there (wrap.ts). */
const FORMAT = 2
const KEY = 32
/** Timeout of a call to the key management service, ms. */
const TIMEOUT = 15_000

export interface ProvidedKey {
  readonly key: Secret<Buffer>
  /** To be stored in the transaction that first uses the key; absent when it is stored. */
  readonly row?: KeyRow
}

/** With a timeout that starts now. */
export const placeOf = (place: Omit<KeyProviderContext, 'signal'>): KeyProviderContext => ({
  ...place,
  signal: AbortSignal.timeout(TIMEOUT),
})

/**
 * The newest root key that the provider can unwrap; undefined when there is none. During a change of address the newest
 * row belongs to the other address. `rows`: the service's own. Rejects with the provider's last error if none can be
 * unwrapped.
 */
export const providedKey = async (
  provider: KeyProvider,
  rows: readonly KeyRow[],
  place: KeyProviderContext,
): Promise<Secret<Buffer> | undefined> => {
  let issue: unknown
  for (const { wrapped } of rows
    .filter(({ purpose }) => purpose === WRAPPED_ROOT)
    .sort((a, b) => b.version - a.version))
    try {
      const key = Buffer.from(await provider.unwrap(wrapped.toString('utf8', 1), place))
      if (key.length === KEY) return new Secret(key)
      issue = new AppError(
        'invalid',
        `The key provider "${provider.scheme}" returned a key that is not 32 bytes long.`,
      )
    } catch (thrown) {
      issue = thrown
    }
  if (issue !== undefined) throw issue
  return undefined
}

/** A new root key, wrapped by the provider, with the row to store. */
export const newProvidedKey = async (
  provider: KeyProvider,
  rows: readonly KeyRow[],
  place: KeyProviderContext,
  now: number,
): Promise<Required<ProvidedKey>> => {
  const key = randomBytes(KEY)
  const wrapped = Buffer.concat([Buffer.of(FORMAT), Buffer.from(await provider.wrap(key, place))])
  const versions = rows.filter(({ purpose }) => purpose === WRAPPED_ROOT).map(({ version }) => version)
  const version = Math.max(0, ...versions) + 1
  return {
    key: new Secret(key),
    row: { tenant_id: '', purpose: WRAPPED_ROOT, version, wrapped, created_at: now },
  }
}
