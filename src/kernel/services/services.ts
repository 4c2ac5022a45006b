import type { Clock } from '../../common/clock.ts'
import type { Keys } from '../../keys/types.ts'
import type { Code, Collection, Mutation, Plugin, PluginContext, Records, Vault } from '../../sdk/index.ts'
import type { Store } from '../../store/store.ts'
import { placeOf } from '../check/plugin.ts'
import type { Registry } from '../types.ts'
import { commitConditionally } from './commit-conditionally.ts'
import { createLogs } from './logs.ts'
import { createRecords } from './records.ts'
import { type OnRejected, sealMutation } from './seal-records.ts'
import { createTenantRecords } from './tenants.ts'

/** Members of a plugin's context that work in `setup` already. */
export type SetupValues = Pick<PluginContext, 'config' | 'headerPrefixes' | 'log' | 'clock'>

/** Members of a plugin's context that work when all plugins are checked. */
export type PluginServices = Omit<PluginContext, keyof SetupValues>

/** Dependencies of the services. They exist when all plugins are checked. */
export interface ServiceDeps
  extends Pick<
    PluginContext,
    'audit' | 'checkDestination' | 'delegations' | 'fetch' | 'identify' | 'requests' | 'destinations'
  > {
  readonly store: Pick<Store, 'records' | 'tenants' | 'logs' | 'usage'>
  /** Resolves when all records from before the call are in the store. */
  readonly ingested: () => Promise<unknown>
  readonly keys: Pick<Keys, 'mac' | 'tenant'>
  readonly clock: Clock
  readonly onRejected: OnRejected
  readonly vault: Vault
  readonly code: Code
  readonly registry: Registry
}

/** The services of one plugin. */
export const createServices = (plugin: Plugin, deps: ServiceDeps): PluginServices => {
  const { store, keys, clock, registry } = deps
  const declared = registry.plugins.find((each) => each.plugin === plugin)?.contribution.collections ?? []
  const own = (name: string): Collection => {
    const collection = declared.find((candidate) => candidate.name === name)
    if (collection === undefined)
      throw new Error(`${placeOf(plugin)} used the collection "${name}", which it does not declare.`)
    return collection
  }
  const handles = new Map<string, Records<{ readonly id: string }>>()
  const recordsOf = ({ name }: Collection): Records<{ readonly id: string }> => {
    const collection = own(name)
    const handle = handles.get(name) ?? createRecords({ ...deps, store: store.records }, collection)
    handles.set(name, handle)
    return handle
  }
  const { vault, code, audit, identify, requests, destinations, delegations, fetch, checkDestination } = deps
  return {
    ...{ vault, code, audit, identify, requests, destinations, delegations, fetch, checkDestination },
    tenants: createTenantRecords({ ...deps, store: store.tenants }),
    logs: createLogs({ ...deps, logs: store.logs }),
    usage: async (tenantId) => {
      await deps.ingested()
      const now = clock.now()
      const [types, active] = await Promise.all([
        store.usage.types(tenantId, now),
        store.usage.active(tenantId, now),
      ])
      return { types, active }
    },
    port: (name) => registry.ports[name],
    records: recordsOf as unknown as PluginContext['records'],
    commit: (mutations: readonly Mutation[]) =>
      commitConditionally(store.records, mutations, async (bound) => {
        const sealed = await Promise.all(
          bound.map((mutation) => sealMutation(keys, own(mutation.collection), mutation)),
        )
        return store.records.commit(sealed, clock.now())
      }),
    hashKey: (key) => keys.mac('api-key', key.reveal()),
    tokenTypes: () => [...registry.tokenTypes.values()],
    entityTypes: () => registry.entityTypes,
    auditDeclarations: () =>
      registry.operations.flatMap(({ audit }) =>
        audit === 'none' ? [] : [{ entity: audit.entity, verb: audit.verb }],
      ),
    permissions: () => registry.permissions,
  }
}
