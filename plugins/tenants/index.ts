import { definePlugin, Type } from '#sdk'
import { listDelegations } from './delegations.ts'
import { tenantOperations } from './operations.ts'
import { permissions } from './permissions.ts'
import { usageReport } from './usage.ts'

const config = Type.Object({
  included_monthly_active_tokens: Type.Integer({
    minimum: 0,
    default: 0,
    description: 'Monthly active tokens that the billing plan includes; 0: no limit.',
  }),
})

/** The tenant that owns the calling key, and what it uses (interface, "Tenant"). */
export const plugin = definePlugin({
  api: 1,
  name: 'tenants',
  version: '1.0.0',
  config,
  setup: (context) => ({
    operations: [
      ...tenantOperations(context),
      listDelegations(context),
      usageReport(context, context.config.included_monthly_active_tokens),
    ],
    permissions,
  }),
})
