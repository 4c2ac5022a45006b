import { definePlugin } from '#sdk'
import { associationOperations } from './associations.ts'
import { bulkOperations } from './bulk.ts'
import { listOperations } from './lists.ts'
import { permissions } from './permissions.ts'
import { recordOperations } from './records.ts'

/** The vault's calls as operations (completions §5): thin, since the vault checks, discloses and writes the records. */
export const plugin = definePlugin({
  api: 1,
  name: 'tokens',
  version: '1.0.0',
  setup: (kernel) => ({
    operations: [
      ...recordOperations(kernel),
      ...listOperations(kernel),
      ...bulkOperations(kernel),
      ...associationOperations(kernel),
    ],
    permissions,
  }),
})
