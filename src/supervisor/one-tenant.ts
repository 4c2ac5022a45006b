import type { Config } from '../config.ts'
import type { Role } from './messages.ts'
import { StartError } from './start-error.ts'

type Settings = Pick<
  Config,
  'delegatedKeySource' | 'rootKeySource' | 'postgres' | 'forwardListen' | 'forwardCa'
>

const problemOf = (config: Settings, role: Role, tenant: string | undefined): string | undefined => {
  const { delegatedKeySource, rootKeySource, postgres, forwardListen, forwardCa } = config
  if (tenant === undefined)
    return delegatedKeySource === undefined
      ? undefined
      : 'SIDEVAULT_DELEGATED_KEY opens one tenant. Start with --role gateway --tenant <id>, or unset it.'
  if (role !== 'gateway')
    return `--tenant needs --role gateway: the role ${role} works for all tenants, with the root key.`
  if (postgres === undefined)
    return 'A gateway with a delegated key needs a database that it shares: set SIDEVAULT_STORE to PostgreSQL, with the role of its delegation.'
  if (delegatedKeySource === undefined)
    return `--tenant needs a delegated key. Run "sidevault keys delegate --tenant ${tenant} --to <name>" where the root key is, and set SIDEVAULT_DELEGATED_KEY to file:<path> of its key.`
  if (rootKeySource !== undefined)
    return 'A gateway with a delegated key must not have the root key, which opens all tenants. Unset SIDEVAULT_ROOT_KEY.'
  if (forwardListen !== undefined && forwardCa === undefined)
    return "A gateway with a delegated key cannot open the installation's certificate authority. Set SIDEVAULT_FORWARD_CA to an authority of its own, or unset SIDEVAULT_FORWARD_LISTEN."
  return undefined
}

/** Throws StartError, with the remedy, for settings that do not fit a gateway for one tenant, or only that. */
export const rejectTenantSettings = (config: Settings, role: Role, tenant: string | undefined): void => {
  const problem = problemOf(config, role, tenant)
  if (problem !== undefined) throw new StartError(problem, { configuration: true })
}
