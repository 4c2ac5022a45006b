import type { PermissionInfo } from '#sdk'

const management = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})

/** Permissions on a tenant and its usage (completions §4). */
export const permissions: readonly PermissionInfo[] = [
  management('tenant:read', 'Read the tenant'),
  management('tenant:update', 'Update the tenant'),
  management('tenant:delete', 'Delete the tenant'),
  management('report:read', 'Read usage reports of the tenant'),
]
