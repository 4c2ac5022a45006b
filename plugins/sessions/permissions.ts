import { managementPermission } from '#kit'
import type { PermissionInfo } from '#sdk'

/** Permissions on sessions (completions §9). */
export const permissions: readonly PermissionInfo[] = [
  managementPermission('session:read', 'List sessions'),
  managementPermission('session:delete', 'End sessions'),
]
