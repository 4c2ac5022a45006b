import { managementPermission } from '#kit'
import type { PermissionInfo } from '#sdk'

/** Permissions on a tenant and its usage (completions §4). */
export const permissions: readonly PermissionInfo[] = [
  managementPermission('tenant:read', 'Read the tenant'),
  managementPermission('tenant:update', 'Update the tenant'),
  managementPermission('tenant:delete', 'Delete the tenant'),
  managementPermission('report:read', 'Read usage reports of the tenant'),
]
