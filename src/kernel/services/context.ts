import type { Collection, Plugin, PluginContext } from '../../sdk/index.ts'
import { placeOf } from '../check/plugin.ts'
import { createServices, type PluginServices, type ServiceDeps, type SetupValues } from './services.ts'

/** A proxy object for one that does not exist yet. */
const lazily = <T extends object>(target: () => T): T =>
  new Proxy(Object.freeze({}) as T, {
    // An object with `then` would be a promise.
    get: (_, name) =>
      typeof name === 'symbol' || name === 'then'
        ? undefined
        : (...args: unknown[]) => {
            const object = target()
            return (object[name as keyof T] as (...args: unknown[]) => unknown).apply(object, args)
          },
  })

/** The context of one plugin. Its services throw until `deps` returns their dependencies. */
export const createContext = (
  plugin: Plugin,
  values: SetupValues,
  deps: () => ServiceDeps | undefined,
): PluginContext => {
  let services: PluginServices | undefined
  const get = <K extends keyof PluginServices>(name: K): PluginServices[K] => {
    if (services === undefined) {
      const ready = deps()
      if (ready === undefined)
        throw new Error(
          `${placeOf(plugin)} used the service "${name}" inside setup; services work from start() on`,
        )
      services = createServices(plugin, ready)
    }
    return services[name]
  }
  return Object.freeze({
    ...values,
    vault: lazily(() => get('vault')),
    tenants: lazily(() => get('tenants')),
    logs: lazily(() => get('logs')),
    code: lazily(() => get('code')),
    records: ((collection: Collection) =>
      lazily(() => get('records')(collection as never))) as unknown as PluginContext['records'],
    audit: (event, origin) => get('audit')(event, origin),
    usage: (tenantId) => get('usage')(tenantId),
    delegations: (tenantId) => get('delegations')(tenantId),
    port: (name) => get('port')(name),
    identify: (application) => get('identify')(application),
    requests: (query) => get('requests')(query),
    destinations: (tenantId) => get('destinations')(tenantId),
    fetch: (request, signal) => get('fetch')(request, signal),
    checkDestination: (url) => get('checkDestination')(url),
    commit: (mutations) => get('commit')(mutations),
    hashKey: (key) => get('hashKey')(key),
    tokenTypes: () => get('tokenTypes')(),
    entityTypes: () => get('entityTypes')(),
    auditDeclarations: () => get('auditDeclarations')(),
    permissions: () => get('permissions')(),
  } satisfies PluginContext)
}
