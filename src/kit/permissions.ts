import type { PermissionInfo } from '../sdk/index.ts'

/** A permission of management applications only. */
export const managementPermission = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})
