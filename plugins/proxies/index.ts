import { definePlugin, type PermissionInfo } from '#sdk'
import { checkCodeOperation } from './check-code.ts'
import { Proxies, ProxyVersions } from './collections.ts'
import { proxyOperations } from './operations.ts'
import { proxySource } from './source.ts'

const permission = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})

/** Stored proxies (interface, "Pre-configured proxies"; completions §7). */
export const plugin = definePlugin({
  api: 1,
  name: 'proxies',
  version: '1.0.0',
  requires: ['applications'],
  setup: (kernel) => ({
    operations: [...proxyOperations(kernel), checkCodeOperation(kernel)],
    collections: [Proxies, ProxyVersions],
    ports: { proxies: proxySource(kernel) },
    permissions: [
      permission('proxy:create', 'Create proxies; with `intercept`, for requests of all applications'),
      permission('proxy:read', 'Read proxies'),
      permission('proxy:update', 'Update proxies, and with them the code that sees values of callers'),
      permission('proxy:delete', 'Delete proxies'),
    ],
  }),
})
