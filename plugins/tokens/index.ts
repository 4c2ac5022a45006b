import { definePlugin } from '#sdk'
import { associationOperations } from './associations.ts'
import { bulkOperations } from './bulk.ts'
import { listOperations } from './lists.ts'
import { permissions } from './permissions.ts'
import { recordOperations } from './records.ts'

/** The vault's methods as operations (completions §5). The vault authorizes, discloses and writes the audit records. */
export const plugin = definePlugin({
  api: 1,
  name: 'tokens',
  version: '1.0.0',
  setup: (context) => ({
    operations: [
      ...recordOperations(context),
      ...listOperations(context),
      ...bulkOperations(context),
      ...associationOperations(context),
    ],
    permissions,
  }),
})
