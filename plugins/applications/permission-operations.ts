import { defineOperation, field, type PluginContext, Type } from '#sdk'
import * as examples from './examples.ts'
import { ApplicationTypes } from './schemas.ts'

const Permission = Type.Object(
  {
    type: Type.String({ field: 1 }),
    description: Type.String({ field: 2 }),
    application_types: Type.Array(ApplicationTypes, { field: 3 }),
  },
  { title: 'Permission' },
)

export const permissionOperations = (context: PluginContext) => [
  defineOperation({
    rpc: 'Permissions.List',
    http: 'GET /permissions',
    summary: 'List the permissions that applications may hold',
    permission: 'any key',
    audit: 'none',
    input: Type.Object({
      application_type: Type.Optional(field(1, ApplicationTypes)),
    }),
    output: Type.Object({ permissions: Type.Array(Permission, { field: 1 }) }),
    responseBody: 'permissions',
    examples: examples.permissions,
    run: async ({ application_type: type }) => ({
      permissions: context
        .permissions()
        .filter((permission) => type === undefined || permission.application_types.includes(type))
        .map((permission) => ({ ...permission, application_types: [...permission.application_types] })),
    }),
  }),
]
