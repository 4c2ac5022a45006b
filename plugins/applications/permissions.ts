import type { PermissionInfo } from '#sdk'

const management = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})

/** Permissions on applications (completions §4). */
export const permissions: readonly PermissionInfo[] = [
  management('application:create', 'Create applications and their keys'),
  management('application:read', 'Read applications and their keys'),
  management('application:update', 'Update applications and regenerate their keys'),
  management('application:delete', 'Delete applications and their keys'),
]
