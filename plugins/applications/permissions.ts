import type { PermissionInfo } from '#sdk'

const management = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})

/**
 * Permissions on applications, and those of the interface ("Authentication", 3) whose resources other plugins bring:
 * an application may hold them before, and whether or not, such a plugin is present.
 */
export const permissions: readonly PermissionInfo[] = [
  management('application:create', 'Create applications and their keys'),
  management('application:read', 'Read applications and their keys'),
  management('application:update', 'Update applications and regenerate their keys'),
  management('application:delete', 'Delete applications and their keys'),
  management('reactor:create', 'Create reactors and reactor formulas'),
  management('reactor:read', 'Read reactors and reactor formulas'),
  management('reactor:update', 'Update reactors and reactor formulas'),
  management('reactor:delete', 'Delete reactors and reactor formulas'),
]
