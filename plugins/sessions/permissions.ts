import type { PermissionInfo } from '#sdk'

/** Permissions on sessions (completions §9). */
export const permissions: readonly PermissionInfo[] = [
  { type: 'session:read', description: 'List sessions', application_types: ['management'] },
  { type: 'session:delete', description: 'End sessions', application_types: ['management'] },
]
