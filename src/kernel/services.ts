import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { Keys } from '../keys/types.ts'
import type {
  Code,
  Collection,
  EntityType,
  Kernel,
  Logs,
  Mutation,
  PermissionInfo,
  Plugin,
  Ports,
  Records,
  Tenant,
  TenantRecords,
  Tenants,
  TokenType,
  Vault,
} from '../sdk/index.ts'
import type { LogStore, RecordStore, TenantRow, TenantStore, UsageStore } from '../store/types.ts'
import { createCachedLookup } from './cached-lookup.ts'
import { placeOf } from './check-plugin.ts'
import { deepFreeze } from './freeze.ts'
import { createLogs } from './logs.ts'
import { createRecords, shapeOf } from './records.ts'
import { sealMutation } from './seal-records.ts'

/** What the services stand on; the vault and the lists exist once all plugins are checked. */
export interface Foundation {
  readonly store: RecordStore
  readonly tenants: TenantStore
  readonly logs: LogStore
  readonly usage: UsageStore
  readonly audit: Kernel['audit']
  /** Resolves when everything that was recorded before the call is in the store. */
  readonly ingested: () => Promise<unknown>
  readonly checkDestination: (url: string) => void
  readonly keys: Pick<Keys, 'mac' | 'tenant'>
  readonly clock: Clock
  readonly log: Log
  readonly started: () => boolean
  readonly vault: () => Vault
  readonly code: () => Code
  readonly fetch: Kernel['fetch']
  readonly identify: Kernel['identify']
  readonly tokenTypes: () => readonly TokenType[]
  readonly permissions: () => readonly PermissionInfo[]
  readonly entityTypes: () => readonly EntityType[]
  readonly ports: () => Readonly<Partial<Ports>>
  /** Collections that a plugin declares. */
  readonly collectionsOf: (plugin: Plugin) => readonly Collection[]
}

/** Tenants kept in memory; the least recently used one goes first. */
const KEPT_TENANTS = 1_000

const VAULT_METHODS = [
  'create',
  'get',
  'list',
  'update',
  'delete',
  'associate',
  'dissociate',
  'createChild',
  'children',
  'tokenize',
  'detokenize',
  'use',
  'foresee',
] as const

const RECORDS_METHODS = [
  'get',
  'read',
  'find',
  'lookup',
  'newest',
  'insert',
  'update',
  'delete',
  'inserting',
  'replacing',
  'deleting',
] as const

/** An object whose methods are those of another that does not exist yet. */
const lazily = <T extends object>(methods: readonly (keyof T & string)[], target: () => T): T =>
  Object.freeze(
    Object.fromEntries(
      methods.map((method) => [
        method,
        (...args: unknown[]) => {
          const object = target()
          return (object[method] as (...args: unknown[]) => unknown).apply(object, args)
        },
      ]),
    ),
  ) as T

/** A tenant as plugins and the vault see it: unset members are absent. */
const shown = ({ created_by, modified_by, modified_at, ...tenant }: TenantRow): Tenant => ({
  ...tenant,
  ...(created_by === null ? {} : { created_by }),
  ...(modified_by === null ? {} : { modified_by }),
  ...(modified_at === null ? {} : { modified_at }),
})

/** Tenants, kept while none of them changes: every token that is made looks at its tenant's settings. */
export const createTenants = (store: TenantStore): Tenants => {
  const read = async (_: TenantStore, id: string) => {
    const row = await store.get(id)
    return row && deepFreeze(shown(row))
  }
  const lookup = createCachedLookup(() => store, read, { changes: () => store.changes(), max: KEPT_TENANTS })
  return { get: lookup.find }
}

/** Tenants with what only their own plugin does to them. */
const createTenantRecords = (store: TenantStore, clock: Clock): TenantRecords => ({
  ...createTenants(store),
  update: async ({ settings, ...change }) => {
    const row = await store.update({
      ...change,
      settings: settings
        ? Object.fromEntries(
            Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined),
          )
        : null,
    })
    return row && shown(row)
  },
  delete: (id) => store.delete(id, clock.now()),
})

/** The kernel as one plugin sees it. Every service throws a clear error while the plugin is still in `setup`. */
export const createServices = (plugin: Plugin, config: unknown, foundation: Foundation): Kernel => {
  const { store, clock } = foundation
  const ready = <T>(name: string, value: () => T): T => {
    if (!foundation.started())
      throw new Error(`${placeOf(plugin)} used kernel.${name} inside setup; services answer from start() on`)
    return value()
  }
  const own = (name: string): Collection => {
    const collection = foundation.collectionsOf(plugin).find((candidate) => candidate.name === name)
    if (collection === undefined)
      throw new Error(`${placeOf(plugin)} used the collection "${name}", which it does not declare.`)
    return collection
  }
  const handles = new Map<string, unknown>()
  const recordsOf = (name: string): Records<{ readonly id: string }> => {
    const collection = own(name)
    let handle = handles.get(name)
    if (handle === undefined) {
      handle = createRecords({ store, keys: foundation.keys, clock }, collection)
      handles.set(name, handle)
    }
    return handle as Records<{ readonly id: string }>
  }
  const tenants = createTenantRecords(foundation.tenants, clock)
  const logs = createLogs(foundation)

  return Object.freeze({
    config,
    log: foundation.log,
    clock,
    vault: lazily<Vault>(VAULT_METHODS, () => ready('vault', foundation.vault)),
    tenants: lazily<TenantRecords>(['get', 'update', 'delete'], () => ready('tenants', () => tenants)),
    logs: lazily<Logs>(['list'], () => ready('logs', () => logs)),
    audit: (entry) => ready('audit', () => foundation.audit(entry)),
    usage: (tenantId) =>
      ready('usage', async () => {
        await foundation.ingested()
        const now = clock.now()
        const [types, active] = await Promise.all([
          foundation.usage.types(tenantId, now),
          foundation.usage.active(tenantId, now),
        ])
        return { types, active }
      }),
    port: (name) => ready('port', () => foundation.ports()[name]),
    code: lazily<Code>(['run', 'check'], () => ready('code', foundation.code)),
    identify: (application) => ready('identify', () => foundation.identify(application)),
    fetch: (request, signal) => ready('fetch', () => foundation.fetch(request, signal)),
    checkDestination: (url) => ready('checkDestination', () => foundation.checkDestination(url)),
    records: ((collection: Collection) =>
      lazily<Records<{ readonly id: string }>>(RECORDS_METHODS, () =>
        ready('records', () => recordsOf(collection.name)),
      )) as unknown as Kernel['records'],
    commit: (mutations: readonly Mutation[]) =>
      ready('commit', async () => {
        const sealed = await Promise.all(
          mutations.map(async (mutation) => {
            const collection = own(mutation.collection)
            const stored = await sealMutation(foundation.keys, collection, mutation)
            return { ...stored, shape: shapeOf(collection) }
          }),
        )
        return store.commit(sealed, clock.now())
      }),
    hashKey: (key) => ready('hashKey', () => foundation.keys.mac('api-key', key.reveal())),
    tokenTypes: () => ready('tokenTypes', foundation.tokenTypes),
    entityTypes: () => ready('entityTypes', foundation.entityTypes),
    permissions: () => ready('permissions', foundation.permissions),
  } satisfies Kernel)
}
