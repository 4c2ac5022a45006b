import { managementPermission } from '#kit'
import { definePlugin } from '#sdk'
import { checkCodeOperation } from './check-code.ts'
import { Proxies, ProxyVersions } from './collections.ts'
import { proxyOperations } from './operations.ts'
import { proxySource } from './source.ts'

/** Stored proxies (interface, "Pre-configured proxies"; completions §7). */
export const plugin = definePlugin({
  api: 1,
  name: 'proxies',
  version: '1.0.0',
  requires: ['applications'],
  setup: (context) => ({
    operations: [...proxyOperations(context), checkCodeOperation(context)],
    collections: [Proxies, ProxyVersions],
    ports: { proxies: proxySource(context) },
    permissions: [
      managementPermission(
        'proxy:create',
        'Create proxies; with `intercept`, for requests of all applications',
      ),
      managementPermission('proxy:read', 'Read proxies'),
      managementPermission(
        'proxy:update',
        'Update proxies, and with them the code that sees values of callers',
      ),
      managementPermission('proxy:delete', 'Delete proxies'),
    ],
  }),
})
