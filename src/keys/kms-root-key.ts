import { randomBytes } from 'node:crypto'
import { AppError } from '../common/errors.ts'
import { Secret } from '../common/secret.ts'
import type { KeyPlace, KeyProvider } from '../sdk/key-provider.ts'
import type { KeyRow } from '../store/types.ts'
import { WRAPPED_ROOT } from './root-key-rows.ts'

/** Leads the text in its row, where a wrapped key has its format: it is none. */
const FORMAT = 2
const KEY = 32
/** ms that a key management service may take. */
const TIMEOUT = 15_000

export interface ProvidedKey {
  readonly key: Secret<Buffer>
  /** To be stored in the transaction that first uses the key; absent when it is stored already. */
  readonly row?: KeyRow
}

export const placeOf = (address: string, env: KeyPlace['env']): KeyPlace => ({
  address,
  env,
  signal: AbortSignal.timeout(TIMEOUT),
})

/**
 * The root key that a provider wrapped last for this store; undefined when it never did. `rows`: the service's own. During
 * a change to another address the newest is that one's, and this address opens the one before.
 */
export const providedKey = async (
  provider: KeyProvider,
  rows: readonly KeyRow[],
  place: KeyPlace,
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
        `The key provider "${provider.scheme}" answered no root key of 32 bytes.`,
      )
    } catch (thrown) {
      issue = thrown
    }
  if (issue !== undefined) throw issue
  return undefined
}

/** A new root key under the provider, with the row that keeps it. */
export const newProvidedKey = async (
  provider: KeyProvider,
  rows: readonly KeyRow[],
  place: KeyPlace,
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
