import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import {
  delegatedKeyOf,
  delegationNameOf,
  delegationsIn,
  isDelegationName,
  revokedPurpose,
} from '../keys/delegated-key.ts'
import type { Delegation } from '../sdk/delegations.ts'
import type { KeyRow } from '../store/keys/types.ts'
import type { OperatedVault } from './open-vault.ts'

/** Lock of the store for changes of delegations, and of what is wrapped for them. */
export const DELEGATIONS = 'delegations'

/** Key rows of one read. */
const PAGE = 1_000

interface Deps {
  readonly vault: Pick<OperatedVault, 'store' | 'keys' | 'record'>
  readonly clock: Clock
}

/** Delegations of all tenants, revoked ones included, by name. */
export const listDelegations = async ({ vault }: Pick<Deps, 'vault'>): Promise<readonly Delegation[]> => {
  const rows: KeyRow[] = []
  for (let last = { tenant_id: '', purpose: '', version: 0 }; ; ) {
    const page = await vault.store.keys.page(last, PAGE)
    rows.push(...page.filter((row) => /^(delegat|revoked:)/.test(row.purpose)))
    const end = page.at(-1)
    if (end === undefined) break
    last = end
  }
  return delegationsIn(rows)
}

const reject = (sentence: string): AppError => new AppError('invalid', sentence)

/** Adds a delegation, and resolves with the text of its key. */
export const addDelegation = async (
  { vault, clock }: Deps,
  { tenantId, name }: { readonly tenantId: string; readonly name: string },
) => {
  const { store, keys, record } = vault
  if (!isDelegationName(name))
    throw reject(
      `"${name}" is not a name for a delegation: 1 to 20 lower-case letters, digits and hyphens, a letter first.`,
    )
  return store.withLock(DELEGATIONS, async () => {
    const known = (await listDelegations({ vault })).find((delegation) => delegation.name === name)
    if (known !== undefined)
      throw reject(`The name "${name}" was used for a delegation before. Choose another one.`)
    const { rows, text } = await keys.delegate(tenantId, name, clock.now())
    await record(tenantId, 'tenant', tenantId, `Keys delegated to the gateways "${name}"`)
    if (!(await store.keys.add(rows))) throw new AppError('conflict', 'The keys were changed. Retry.')
    return text
  })
}

/** Ends a delegation; false if it was revoked before. Its gateways open nothing from the next second on. */
export const revokeDelegation = async ({ vault, clock }: Deps, name: string): Promise<boolean> => {
  const { store, record } = vault
  return store.withLock(DELEGATIONS, async () => {
    const known = (await listDelegations({ vault })).find((delegation) => delegation.name === name)
    if (known === undefined)
      throw reject(`There is no delegation "${name}". "sidevault keys delegations" lists them.`)
    const { tenantId: tenant_id } = known
    const rows = (await store.keys.keys(tenant_id)).filter(
      (row) => delegationNameOf(row) === name || delegatedKeyOf(row)?.name === name,
    )
    if (known.isRevoked && rows.length === 0) return false
    await record(tenant_id, 'tenant', tenant_id, `Delegation to the gateways "${name}" revoked`)
    // The marker first: a command that is killed in between is repeated.
    const marker = { tenant_id, purpose: revokedPurpose(name), version: 1, wrapped: Buffer.alloc(0) }
    await store.keys.add([{ ...marker, created_at: clock.now() }])
    await store.keys.remove(rows)
    return true
  })
}
