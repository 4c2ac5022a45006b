import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { Keys } from '../keys/types.ts'
import type {
  Collection,
  Kernel,
  Mutation,
  PermissionInfo,
  Plugin,
  Records,
  Tenants,
  TokenType,
  Vault,
} from '../sdk/index.ts'
import type { RecordStore, TenantStore } from '../store/types.ts'
import { placeOf } from './check-plugin.ts'
import { createRecords, shapeOf } from './records.ts'

/** What the services stand on; the vault and the lists exist once all plugins are checked. */
export interface Foundation {
  readonly store: RecordStore
  readonly tenants: TenantStore
  readonly keys: Pick<Keys, 'mac'>
  readonly clock: Clock
  readonly log: Log
  readonly started: () => boolean
  readonly vault: () => Vault
  readonly tokenTypes: () => readonly TokenType[]
  readonly permissions: () => readonly PermissionInfo[]
  /** Collections that a plugin declares. */
  readonly collectionsOf: (plugin: Plugin) => readonly Collection[]
}

const VAULT_METHODS = ['create', 'get', 'list', 'update', 'delete', 'tokenize', 'detokenize', 'use'] as const

const RECORDS_METHODS = [
  'get',
  'read',
  'find',
  'lookup',
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

/** Tenants as plugins and the vault see them: unset members are absent. */
export const createTenants = (store: TenantStore): Tenants => ({
  get: async (id) => {
    const row = await store.get(id)
    if (row === undefined) return undefined
    const { created_by, modified_by, modified_at, ...tenant } = row
    return {
      ...tenant,
      ...(created_by === null ? {} : { created_by }),
      ...(modified_by === null ? {} : { modified_by }),
      ...(modified_at === null ? {} : { modified_at }),
    }
  },
})

/** The kernel as one plugin sees it. Every service throws a clear error while the plugin is still in `setup`. */
export const createServices = (plugin: Plugin, config: unknown, foundation: Foundation): Kernel => {
  const { store, clock } = foundation
  const ready = <T>(name: string, value: () => T): T => {
    if (!foundation.started())
      throw new Error(`${placeOf(plugin)} used kernel.${name} inside setup; services answer from start() on.`)
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
      handle = createRecords({ store, clock }, collection)
      handles.set(name, handle)
    }
    return handle as Records<{ readonly id: string }>
  }
  const tenants = createTenants(foundation.tenants)

  return Object.freeze({
    config,
    log: foundation.log,
    clock,
    vault: lazily<Vault>(VAULT_METHODS, () => ready('vault', foundation.vault)),
    tenants: lazily<Tenants>(['get'], () => ready('tenants', () => tenants)),
    records: ((collection: Collection) =>
      lazily<Records<{ readonly id: string }>>(RECORDS_METHODS, () =>
        ready('records', () => recordsOf(collection.name)),
      )) as unknown as Kernel['records'],
    commit: (mutations: readonly Mutation[]) =>
      ready('commit', () =>
        store.commit(
          mutations.map((mutation) => ({ ...mutation, shape: shapeOf(own(mutation.collection)) })),
          clock.now(),
        ),
      ),
    hashKey: (key) => ready('hashKey', () => foundation.keys.mac('api-key', key.reveal())),
    tokenTypes: () => ready('tokenTypes', foundation.tokenTypes),
    permissions: () => ready('permissions', foundation.permissions),
  } satisfies Kernel)
}
