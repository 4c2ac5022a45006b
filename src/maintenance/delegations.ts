import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Clock, isoTime, systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { createSecretFile } from '../common/secret-file.ts'
import { shellQuote } from '../common/shell-quote.ts'
import type { Config } from '../config.ts'
import {
  delegatedKeyOf,
  delegationNameOf,
  isDelegationName,
  revokedNameOf,
  revokedPurpose,
} from '../keys/delegated-key.ts'
import type { KeyRow } from '../store/keys/types.ts'
import { withClient } from '../store/postgres/open.ts'
import { dropTenantRoleSql, tenantRoleName, tenantRoleSql } from '../store/postgres/tenant-role.ts'
import { type OperatedVault, type Print, withVault } from './open-vault.ts'

/** Lock of the store for changes of delegations, and of what is wrapped for them. */
export const DELEGATIONS = 'delegations'

/** Key rows of one read. */
const PAGE = 1_000

interface Deps {
  readonly vault: Pick<OperatedVault, 'store' | 'keys' | 'record'>
  readonly clock: Clock
}

interface Delegation {
  readonly name: string
  readonly tenantId: string
  /** ms since the epoch: of its creation, or of its revocation. */
  readonly at: number
  readonly isRevoked: boolean
  /** Versions of the data key that it opens. */
  readonly versions: readonly number[]
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
  const versionsFor = (wanted: string) =>
    rows.flatMap((row) => {
      const { name, purpose } = delegatedKeyOf(row) ?? {}
      return name === wanted && purpose === 'data' ? [row.version] : []
    })
  return rows
    .flatMap((row): readonly Delegation[] => {
      const revoked = revokedNameOf(row)
      const name = revoked ?? delegationNameOf(row)
      if (name === undefined) return []
      const { tenant_id: tenantId, created_at: at } = row
      return [{ name, tenantId, at, isRevoked: revoked !== undefined, versions: versionsFor(name) }]
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
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

const addressOf = ({ postgres }: Config): string => {
  if (postgres === undefined)
    throw reject(
      'A gateway with a delegated key needs a database that it shares: set SIDEVAULT_STORE to PostgreSQL. "sidevault migrate-store" moves a SQLite file there.',
    )
  return postgres.reveal()
}

const gatewayAddress = (address: string, name: string, password: string): string => {
  const url = new URL(address)
  url.username = tenantRoleName({ name })
  url.password = password
  return url.href
}

/** `sidevault keys delegate`. Everything that it prints is SQL. */
export const runDelegate = async (
  config: Config,
  { tenant: tenantId, to: name, out }: { readonly tenant: string; readonly to: string; readonly out: string },
  print: Print,
): Promise<void> => {
  const address = addressOf(config)
  if (existsSync(out)) throw reject(`The file "${out}" exists. Name another one with --out.`)
  const password = randomBytes(24).toString('hex')
  const sql = await withClient(address, (client) => tenantRoleSql(client, { tenantId, name }, password))
  const text = await withVault(config, (vault) =>
    addDelegation({ vault, clock: systemClock }, { tenantId, name }),
  )
  await createSecretFile(out, `${text.reveal()}\n`)
  const start = `SIDEVAULT_DELEGATED_KEY=${shellQuote(`file:${out}`)} sidevault start --role gateway --tenant ${shellQuote(tenantId)}`
  for (const line of [
    `-- The delegated key of "${name}" is in the file ${out} (mode 0600). Move it to the gateway.`,
    '-- Run this SQL in the database, as its owner with the right to create roles, or as a superuser.',
    ...sql,
    '-- Then start the gateway, with a data directory of its own and without the root key:',
    `-- SIDEVAULT_STORE=${shellQuote(gatewayAddress(address, name, password))} ${start}`,
  ])
    print(line)
}

/** `sidevault keys delegations`. `sql`: prints the SQL of this one's role again, instead. */
export const runDelegations = (config: Config, sql: string | undefined, print: Print): Promise<void> =>
  withVault(config, async (vault) => {
    const delegations = await listDelegations({ vault })
    if (sql !== undefined) {
      const delegation = delegations.find(({ name, isRevoked }) => name === sql && !isRevoked)
      if (delegation === undefined) throw reject(`There is no delegation "${sql}".`)
      const lines = await withClient(addressOf(config), (client) =>
        tenantRoleSql(client, delegation, undefined),
      )
      for (const line of lines) print(line)
      return
    }
    if (delegations.length === 0) print('There is no delegation.')
    for (const { name, tenantId, at, isRevoked, versions } of delegations)
      print(
        isRevoked
          ? `revoked ${name}: tenant ${tenantId}, ${isoTime(at)}`
          : `active  ${name}: tenant ${tenantId}, since ${isoTime(at)}, data key versions ${versions.join(', ')}`,
      )
  })

/** `sidevault keys revoke`. */
export const runRevoke = (config: Config, name: string, print: Print): Promise<void> =>
  withVault(config, async (vault) => {
    const isNew = await revokeDelegation({ vault, clock: systemClock }, name)
    print(
      `-- ${isNew ? 'revoked' : 'was revoked before:'} ${name}. Its gateways respond with 503 within a second.`,
    )
    print('-- Run this SQL in the database, to end its role:')
    for (const line of dropTenantRoleSql({ name })) print(line)
    print(
      '-- Then make the keys that it had useless: sidevault keys rotate-data --tenant <id>, and destroy-old after an hour.',
    )
  })
