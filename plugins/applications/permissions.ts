import { managementPermission } from '#kit'
import type { PermissionInfo } from '#sdk'

/** Permissions on applications (completions §4). */
export const permissions: readonly PermissionInfo[] = [
  managementPermission('application:create', 'Create applications and their keys'),
  managementPermission('application:read', 'Read applications and their keys'),
  managementPermission('application:update', 'Update applications and regenerate their keys'),
  managementPermission('application:delete', 'Delete applications and their keys'),
]
