import { systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { createServices } from '../kernel/services/services.ts'
import type { Plugin, PluginContext } from '../sdk/index.ts'

const nothing = (): never => {
  throw new Error('services are not available while plugins are inspected')
}

/** The services of a plugin's setup without a start. Services throw before a start. */
export const idleServices = (plugin: Plugin, config: unknown, log: Log): PluginContext =>
  createServices(plugin, config, {
    store: {} as never,
    tenants: {} as never,
    logs: {} as never,
    usage: {} as never,
    audit: nothing,
    ingested: nothing,
    checkDestination: nothing,
    headerPrefixes: [],
    entityTypes: nothing,
    ports: nothing,
    keys: { mac: nothing, tenant: nothing },
    clock: systemClock,
    onRejected: nothing,
    log: log.child({ plugin: plugin.name }),
    started: () => false,
    vault: nothing,
    code: nothing,
    fetch: nothing,
    identify: nothing,
    requests: nothing,
    destinations: nothing,
    tokenTypes: nothing,
    permissions: nothing,
    collectionsOf: nothing,
  })
