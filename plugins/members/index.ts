import { managementPermission } from '#kit'
import { definePlugin } from '#sdk'
import { invitationAcceptance } from './accept-invitation.ts'
import { Invitations, Members } from './collections.ts'
import { invitationOperations } from './invitation-operations.ts'
import { memberOperations } from './member-operations.ts'

/** Members of a tenant and invitations to it: records only (completions §9a). */
export const plugin = definePlugin({
  api: 1,
  name: 'members',
  version: '1.0.0',
  setup: (context) => ({
    operations: [...memberOperations(context), ...invitationOperations(context)],
    collections: [Members, Invitations],
    ports: { members: invitationAcceptance(context) },
    permissions: [
      managementPermission('tenant:member:read', 'Read members of the tenant'),
      managementPermission('tenant:member:update', 'Update members of the tenant'),
      managementPermission('tenant:member:delete', 'Remove members from the tenant'),
      managementPermission('tenant:invitation:create', 'Invite people to the tenant'),
      managementPermission('tenant:invitation:read', 'Read invitations to the tenant'),
      managementPermission('tenant:invitation:update', 'Update and resend invitations to the tenant'),
      managementPermission('tenant:invitation:delete', 'Delete invitations to the tenant'),
    ],
  }),
})
