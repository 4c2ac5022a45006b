import type { Clock } from '../../common/clock.ts'
import type { Log } from '../../common/log.ts'
import type { Keys } from '../../keys/types.ts'
import type {
  Code,
  Collection,
  EntityType,
  Logs,
  Mutation,
  PermissionInfo,
  Plugin,
  PluginContext,
  Ports,
  Records,
  TenantRecords,
  TokenType,
  Vault,
} from '../../sdk/index.ts'
import type { LogStore, RecordStore, TenantStore, UsageStore } from '../../store/types.ts'
import { placeOf } from '../check/plugin.ts'
import { createLogs } from './logs.ts'
import { createRecords } from './records.ts'
import { type OnRejected, sealMutation } from './seal-records.ts'
import { createTenantRecords } from './tenants.ts'

/** Dependencies of the services; the vault and the lists exist when all plugins are checked. */
export interface ServiceDeps {
  readonly store: RecordStore
  readonly tenants: TenantStore
  readonly logs: LogStore
  readonly usage: UsageStore
  readonly audit: PluginContext['audit']
  /** Resolves when all records from before the call are in the store. */
  readonly ingested: () => Promise<unknown>
  readonly checkDestination: (url: string) => void
  readonly headerPrefixes: readonly string[]
  readonly keys: Pick<Keys, 'mac' | 'tenant'>
  readonly clock: Clock
  readonly onRejected: OnRejected
  readonly log: Log
  readonly started: () => boolean
  readonly vault: () => Vault
  readonly code: () => Code
  readonly fetch: PluginContext['fetch']
  readonly identify: PluginContext['identify']
  readonly requests: PluginContext['requests']
  readonly destinations: PluginContext['destinations']
  readonly tokenTypes: () => readonly TokenType[]
  readonly permissions: () => readonly PermissionInfo[]
  readonly entityTypes: () => readonly EntityType[]
  readonly ports: () => Readonly<Partial<Ports>>
  /** Collections that a plugin declares. */
  readonly collectionsOf: (plugin: Plugin) => readonly Collection[]
}

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

/** The context of one plugin. Its services throw while the plugin is in `setup`. */
export const createServices = (plugin: Plugin, config: unknown, runtime: ServiceDeps): PluginContext => {
  const { store, clock } = runtime
  const ready = <T>(name: string, value: () => T): T => {
    if (!runtime.started())
      throw new Error(`${placeOf(plugin)} used kernel.${name} inside setup; services work from start() on`)
    return value()
  }
  const own = (name: string): Collection => {
    const collection = runtime.collectionsOf(plugin).find((candidate) => candidate.name === name)
    if (collection === undefined)
      throw new Error(`${placeOf(plugin)} used the collection "${name}", which it does not declare.`)
    return collection
  }
  const handles = new Map<string, unknown>()
  const recordsOf = (name: string): Records<{ readonly id: string }> => {
    const collection = own(name)
    let handle = handles.get(name)
    if (handle === undefined) {
      handle = createRecords({ ...runtime, clock }, collection)
      handles.set(name, handle)
    }
    return handle as Records<{ readonly id: string }>
  }
  const tenants = createTenantRecords({ ...runtime, store: runtime.tenants })
  const logs = createLogs(runtime)

  return Object.freeze({
    config,
    headerPrefixes: runtime.headerPrefixes,
    log: runtime.log,
    clock,
    vault: lazily<Vault>(() => ready('vault', runtime.vault)),
    tenants: lazily<TenantRecords>(() => ready('tenants', () => tenants)),
    logs: lazily<Logs>(() => ready('logs', () => logs)),
    audit: (event, origin) => ready('audit', () => runtime.audit(event, origin)),
    usage: (tenantId) =>
      ready('usage', async () => {
        await runtime.ingested()
        const now = clock.now()
        const [types, active] = await Promise.all([
          runtime.usage.types(tenantId, now),
          runtime.usage.active(tenantId, now),
        ])
        return { types, active }
      }),
    port: (name) => ready('port', () => runtime.ports()[name]),
    code: lazily<Code>(() => ready('code', runtime.code)),
    identify: (application) => ready('identify', () => runtime.identify(application)),
    requests: (query) => ready('requests', () => runtime.requests(query)),
    destinations: (tenantId) => ready('destinations', () => runtime.destinations(tenantId)),
    fetch: (request, signal) => ready('fetch', () => runtime.fetch(request, signal)),
    checkDestination: (url) => ready('checkDestination', () => runtime.checkDestination(url)),
    records: ((collection: Collection) =>
      lazily<Records<{ readonly id: string }>>(() =>
        ready('records', () => recordsOf(collection.name)),
      )) as unknown as PluginContext['records'],
    commit: (mutations: readonly Mutation[]) =>
      ready('commit', async () => {
        const sealed = await Promise.all(
          mutations.map((mutation) => sealMutation(runtime.keys, own(mutation.collection), mutation)),
        )
        return store.commit(sealed, clock.now())
      }),
    hashKey: (key) => ready('hashKey', () => runtime.keys.mac('api-key', key.reveal())),
    tokenTypes: () => ready('tokenTypes', runtime.tokenTypes),
    entityTypes: () => ready('entityTypes', runtime.entityTypes),
    permissions: () => ready('permissions', runtime.permissions),
  } satisfies PluginContext)
}
