import type { Command } from 'commander'
import { loadConfig } from '../config.ts'
import type { Role } from '../supervisor/messages.ts'
import { configOption, jsonOption, print, printJson } from './run-command.ts'
import { callService, resultOf, servedSockets } from './running-service.ts'

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
  const response = await callService(socket, method, path, {
    timeoutMs: TIMEOUT_MS,
    ...(body ? { body } : {}),
    ...(method === 'GET'
      ? {}
      : { unanswered: `The service did not respond, so the outcome is unknown. ${remedy}` }),
  })
  return resultOf(response)
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
    .addOption(jsonOption())
    .addOption(configOption())
    .action(async ({ config, json }: { config?: string; json: boolean }) => {
      const all = (await call(config, 'GET', '/tenants')) as Record<'id' | 'name' | 'created_at', string>[]
      if (json) return printJson(all)
      for (const { id, created_at, name } of all) print(`${id}  ${created_at}  ${JSON.stringify(name)}`)
    })
  tenants
    .command('new-key')
    .description('create another management application of a tenant, and print its key once')
    .argument('<id>', 'id of the tenant, as "list" prints it')
    .addOption(configOption())
    .action(async (id: string, { config }: { config?: string }) => {
      const path = `/tenants/${encodeURIComponent(id)}/management-keys`
      const application = (await call(config, 'POST', path, { remedy: RETRY_KEY })) as Record<
        'application_id' | 'key',
        string
      >
      print(`application  ${application.application_id}`)
      print(`key          ${application.key}`)
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
