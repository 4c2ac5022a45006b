import { definePlugin } from '#sdk'
import { getSelf } from './operations.ts'
import { permissions } from './permissions.ts'

/** The tenant that owns the calling key (interface, "Tenant"). */
export const plugin = definePlugin({
  api: 1,
  name: 'tenants',
  version: '1.0.0',
  setup: (kernel) => ({ operations: [getSelf(kernel)], permissions }),
})
