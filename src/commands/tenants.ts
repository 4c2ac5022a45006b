import type { Command } from 'commander'
import { isObject } from '../common/json.ts'
import { unixHttp } from '../common/unix-http.ts'
import { loadConfig } from '../config.ts'
import type { Role } from '../supervisor/messages.ts'
import { StartError } from '../supervisor/start-error.ts'
import { configOption, print } from './run-command.ts'
import { isNotServed, notRunning, servedSockets } from './running-service.ts'

/** Roles with the management API. */
const ROLES: readonly Role[] = ['all', 'admin']

/** A new tenant waits for other writers of the store, and its key is printed only once. */
const TIMEOUT_MS = 60_000

const RETRY_TENANT =
  'See "sidevault tenants list". Delete a new tenant whose key was not printed, then retry.'
const RETRY_KEY =
  'Retry. Then delete the management application whose key was not printed: GET and DELETE /applications.'

/** Calls the operator socket of the running service. `remedy`: for a change with an unknown outcome. */
const call = async (
  config: string | undefined,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  { body, remedy = RETRY_TENANT }: { readonly body?: object; readonly remedy?: string } = {},
): Promise<unknown> => {
  const { dataDir } = loadConfig(process.env, { file: config })
  const [socket] = await servedSockets(dataDir, ROLES, 'operator')
  const options = { timeoutMs: TIMEOUT_MS, ...(body ? { body } : {}) }
  const response = await unixHttp(socket, method, path, options).catch((error: unknown) => {
    if (isNotServed(error)) throw notRunning(dataDir, ROLES)
    throw new StartError(
      method === 'GET'
        ? 'The service did not respond. Check its log, then retry.'
        : `The service did not respond, so the outcome is unknown. ${remedy}`,
    )
  })
  const value: unknown = response.body === '' ? undefined : JSON.parse(response.body)
  if (response.status < 400) return value
  throw new StartError(
    isObject(value) ? String(value.detail) : `The service responded with status ${response.status}.`,
  )
}

/** `sidevault tenants …`: for the operator of a running service, on its machine. */
export const addTenantsCommand = (root: Command): void => {
  const tenants = root.command('tenants').description('the tenants of a running service')
  tenants
    .command('create')
    .description('create a tenant, and print the key of its management application once')
    .argument('<name>', 'name of the tenant, at most 200 characters')
    .addOption(configOption())
    .action(async (name: string, { config }: { config?: string }) => {
      const created = (await call(config, 'POST', '/tenants', { body: { name } })) as Record<
        'id' | 'name' | 'key',
        string
      >
      print(`tenant  ${created.id}`)
      print(`key     ${created.key}`)
    })
  tenants
    .command('list')
    .description('print id, time of creation and name of each tenant')
    .addOption(configOption())
    .action(async ({ config }: { config?: string }) => {
      const all = (await call(config, 'GET', '/tenants')) as Record<'id' | 'name' | 'created_at', string>[]
      for (const { id, created_at, name } of all) print(`${id}  ${created_at}  ${JSON.stringify(name)}`)
    })
  tenants
    .command('new-key')
    .description('create another management application of a tenant, and print its key once')
    .argument('<id>', 'id of the tenant, as "list" prints it')
    .addOption(configOption())
    .action(async (id: string, { config }: { config?: string }) => {
      const path = `/tenants/${encodeURIComponent(id)}/management-keys`
      const made = (await call(config, 'POST', path, { remedy: RETRY_KEY })) as Record<
        'application_id' | 'key',
        string
      >
      print(`application  ${made.application_id}`)
      print(`key          ${made.key}`)
    })
  tenants
    .command('delete')
    .description('destroy a tenant, its keys and all its data irrevocably')
    .argument('<id>', 'its id, as "list" prints it')
    .addOption(configOption())
    .action(async (id: string, { config }: { config?: string }) => {
      await call(config, 'DELETE', `/tenants/${encodeURIComponent(id)}`)
      print(`deleted ${id}`)
    })
}
