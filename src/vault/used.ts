import type { TokenState, UseContext } from '../sdk/index.ts'
import type { TokenRow } from '../store/tokens/types.ts'
import { bytesOf, headsOf, openEach } from './open.ts'
import type { Opened } from './seal.ts'
import type { VaultDeps } from './vault-deps.ts'

/** The state of a token, with the expiries under its seals: columns may have been edited. */
export const stateOf = (
  { id, created_at, version, expires_at }: Pick<TokenRow, 'id' | 'created_at' | 'version' | 'expires_at'>,
  { ephemeral }: Pick<Opened, 'ephemeral'>,
): TokenState => {
  const ends = [...ephemeral.values()].map(({ until }) => until)
  const until = Math.min(...ends, expires_at ?? Number.POSITIVE_INFINITY)
  return { id, created_at, version, until: until === Number.POSITIVE_INFINITY ? null : until }
}

/** The version of a token for `ETag`: its id may be used again once it is deleted. */
export const versionOf = ({ version, created_at }: Pick<TokenRow, 'version' | 'created_at'>): string =>
  `${version}-${created_at.toString(36)}`

/** `Vault.areCurrent`. */
export const areCurrent = async (
  deps: VaultDeps,
  states: readonly Omit<TokenState, 'until'>[],
  context: UseContext,
): Promise<boolean> => {
  const { tenantId } = context.caller
  const expected = new Map(states.map((state) => [state.id, state]))
  const heads = await headsOf(deps, tenantId, [...expected.keys()], context.now)
  if (bytesOf(heads) > deps.limits.opened) return false
  let isCurrent = true
  await openEach(deps, context, heads, context.now, (row, open) => {
    const { created_at, version } = expected.get(row.id) ?? {}
    if (!isCurrent || row.created_at !== created_at || row.version !== version) {
      isCurrent = false
      return
    }
    try {
      open()
    } catch {
      isCurrent = false
    }
    expected.delete(row.id)
  })
  return isCurrent && expected.size === 0
}
