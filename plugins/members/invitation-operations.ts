import { EntityId, notFound } from '#kit'
import {
  defineOperation,
  Empty,
  listOf,
  newId,
  offsetPage,
  offsetQuery,
  type PluginContext,
  pageOf,
  Type,
} from '#sdk'
import { type InvitationRecord, Invitations } from './collections.ts'
import * as examples from './examples.ts'
import { InvitationInput, InvitationOutput, invitationOutput } from './schemas.ts'

/** Lifetime of an invitation (completions §9a), ms. */
const LIFETIME = 72 * 3_600_000

export const invitationNotFound = (id: string) => notFound('invitation_not_found', id)

/** Operations on invitations to the calling key's tenant. Mail is sent by a plugin with the port `invitations`. */
export const invitationOperations = (context: PluginContext) => {
  const invitations = () => context.records(Invitations)

  const notify = async (tenantId: string, { id, email, role, expires_at }: InvitationRecord) => {
    try {
      await context.port('invitations')?.onInvited({ tenant_id: tenantId, id, email, role, expires_at })
    } catch (err) {
      context.log.error({ err, invitation: id }, 'the port "invitations" failed; the invitation stands')
    }
  }

  return [
    defineOperation({
      rpc: 'Invitations.Create',
      http: 'POST /tenants/self/invitations',
      summary: 'Invite a person to the tenant',
      permission: 'tenant:invitation:create',
      audit: { entity: 'tenant_invitation', verb: 'create' },
      input: InvitationInput,
      output: InvitationOutput,
      status: 201,
      location: ({ id }) => `/tenants/self/invitations/${id}`,
      examples: examples.invite,
      run: async ({ email, role }, { caller, now }) => {
        const invitation: InvitationRecord = {
          id: newId(),
          email,
          role: role ?? 'ADMIN',
          expires_at: now + LIFETIME,
          created_by: caller.actorId,
          created_at: now,
        }
        await invitations().insert(caller.tenantId, invitation)
        await notify(caller.tenantId, invitation)
        return invitationOutput(caller.tenantId, invitation, now)
      },
    }),
    defineOperation({
      rpc: 'Invitations.List',
      http: 'GET /tenants/self/invitations',
      summary: 'List invitations to the tenant',
      permission: 'tenant:invitation:read',
      audit: 'none',
      input: Type.Object(offsetQuery),
      output: listOf(InvitationOutput),
      examples: examples.listInvitations,
      run: async (input, { caller, now }) => {
        const page = pageOf(input)
        const result = await invitations().find(caller.tenantId, page)
        const shown = result.items.map((invitation) => invitationOutput(caller.tenantId, invitation, now))
        return offsetPage(shown, result.total, page)
      },
    }),
    defineOperation({
      rpc: 'Invitations.Get',
      http: 'GET /tenants/self/invitations/{id}',
      summary: 'Get an invitation to the tenant',
      permission: 'tenant:invitation:read',
      audit: 'none',
      input: EntityId,
      output: InvitationOutput,
      examples: examples.getInvitation,
      run: async ({ id }, { caller, now }) => {
        const invitation = await invitations().get(caller.tenantId, id)
        if (invitation === undefined) throw invitationNotFound(id)
        return invitationOutput(caller.tenantId, invitation, now)
      },
    }),
    defineOperation({
      rpc: 'Invitations.Resend',
      http: 'POST /tenants/self/invitations/{id}/resend',
      summary: 'Resend an invitation, valid for another 72 hours',
      permission: 'tenant:invitation:update',
      audit: { entity: 'tenant_invitation', verb: 'update', message: 'Tenant invitation sent again' },
      input: EntityId,
      output: InvitationOutput,
      examples: examples.resend,
      run: async ({ id }, { caller, now }) => {
        const invitation = await invitations().update(caller.tenantId, id, (current) => ({
          ...current,
          expires_at: now + LIFETIME,
          modified_by: caller.actorId,
          modified_at: now,
        }))
        if (invitation === undefined) throw invitationNotFound(id)
        await notify(caller.tenantId, invitation)
        return invitationOutput(caller.tenantId, invitation, now)
      },
    }),
    defineOperation({
      rpc: 'Invitations.Delete',
      http: 'DELETE /tenants/self/invitations/{id}',
      summary: 'Delete an invitation',
      permission: 'tenant:invitation:delete',
      audit: { entity: 'tenant_invitation', verb: 'delete' },
      input: EntityId,
      output: Empty,
      status: 204,
      examples: examples.removeInvitation,
      run: async ({ id }, { caller }) => {
        if (!(await invitations().delete(caller.tenantId, id))) throw invitationNotFound(id)
        return {}
      },
    }),
  ]
}
