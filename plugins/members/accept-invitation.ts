import { AppError, newId, type PluginContext, type Ports } from '#sdk'
import { Invitations, Members } from './collections.ts'
import { invitationNotFound } from './invitation-operations.ts'

/** The port with which a plugin (for example single sign-on) makes an invited person a member. */
export const invitationAcceptance = (context: PluginContext): Ports['members'] => ({
  acceptInvitation: async (tenantId, invitationId, userId) => {
    const invitations = context.records(Invitations)
    const stored = await invitations.read(tenantId, invitationId)
    const now = context.clock.now()
    if (stored === undefined) throw invitationNotFound(invitationId)
    const { record, version } = stored
    if (record.expires_at <= now)
      throw new AppError('unprocessable', 'The invitation has expired. Have it sent again.')
    const id = newId()
    const { email, role } = record
    // Replaced at the version read: of two concurrent calls, one succeeds.
    await context.commit([
      invitations.replaceMutation(tenantId, record, version),
      invitations.deleteMutation(tenantId, invitationId),
      context
        .records(Members)
        .insertMutation(tenantId, { id, role, user_id: userId, email, created_by: userId, created_at: now }),
    ])
    return id
  },
})
