import type { PermissionInfo } from '#sdk'

const management = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})

/** Permissions on a tenant, its usage, its members and its invitations (completions §4, §9a). */
export const permissions: readonly PermissionInfo[] = [
  management('tenant:read', 'Read the tenant'),
  management('tenant:update', 'Update the tenant'),
  management('tenant:delete', 'Delete the tenant'),
  management('tenant:member:read', 'Read members of the tenant'),
  management('tenant:member:update', 'Update members of the tenant'),
  management('tenant:member:delete', 'Remove members from the tenant'),
  management('tenant:invitation:create', 'Invite people to the tenant'),
  management('tenant:invitation:read', 'Read invitations to the tenant'),
  management('tenant:invitation:update', 'Update and resend invitations to the tenant'),
  management('tenant:invitation:delete', 'Delete invitations to the tenant'),
  management('report:read', 'Read usage reports of the tenant'),
]
