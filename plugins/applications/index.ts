import { definePlugin } from '#sdk'
import { accessOperations } from './access-operations.ts'
import { applicationOperations } from './application-operations.ts'
import { ApplicationKeys, Applications } from './collections.ts'
import { credentialOf, credentials } from './credentials.ts'
import { createDirectory } from './directory.ts'
import { keyOperations } from './key-operations.ts'
import { permissionOperations } from './permission-operations.ts'
import { permissions } from './permissions.ts'
import { runKeys } from './run-keys.ts'

/** Applications, their keys and permissions (completions §4); finds the application of a key. */
export const plugin = definePlugin({
  api: 1,
  name: 'applications',
  version: '1.0.0',
  setup: (context) => {
    const directory = createDirectory(context)
    return {
      operations: [
        ...applicationOperations(context, directory),
        ...keyOperations(context, directory),
        ...permissionOperations(context),
        ...accessOperations(context, directory),
      ],
      collections: [Applications, ApplicationKeys],
      permissions,
      ports: {
        credentials: credentials(context, directory),
        applications: {
          get: async (tenantId, id) => {
            const application = await directory.applications().get(tenantId, id)
            return application && { ...application, tenant_id: tenantId }
          },
          credential: async (tenantId, id, keyId) => {
            const application = await directory.applications().get(tenantId, id)
            if (application === undefined || keyId === undefined)
              return application && credentialOf(tenantId, application)
            const key = await directory.keys().get(tenantId, keyId)
            return key?.application_id === id ? credentialOf(tenantId, application, key) : undefined
          },
          managementPermissions: async (tenantId) => {
            const { items } = await directory.applications().find(tenantId, { where: { type: 'management' } })
            return new Set(items.flatMap(({ permissions }) => permissions))
          },
          runKeys: runKeys(context, directory),
        },
      },
    }
  },
})
