import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { isoTime, systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { createSecretFile } from '../common/secret-file.ts'
import { shellQuote } from '../common/shell-quote.ts'
import type { Config } from '../config.ts'
import { withClient } from '../store/postgres/open.ts'
import { dropTenantRoleSql, tenantRoleName, tenantRoleSql } from '../store/postgres/tenant-role.ts'
import { addDelegation, listDelegations, revokeDelegation } from './delegations.ts'
import { type Print, withVault } from './open-vault.ts'

const reject = (sentence: string): AppError => new AppError('invalid', sentence)

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
