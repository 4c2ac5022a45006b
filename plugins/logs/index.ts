import { definePlugin } from '#sdk'
import { logOperations } from './operations.ts'
import { requestOperations } from './requests.ts'

/** The audit log of the calling key's tenant (interface, "Logs"). */
export const plugin = definePlugin({
  api: 1,
  name: 'logs',
  version: '1.0.0',
  setup: (context) => ({
    operations: [...logOperations(context), ...requestOperations(context)],
    permissions: [{ type: 'log:read', description: 'Read the audit log', application_types: ['management'] }],
  }),
})
