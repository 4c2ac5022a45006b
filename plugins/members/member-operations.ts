import { EntityId, notFound } from '#kit'
import {
  AppError,
  defineOperation,
  Empty,
  listOf,
  offsetPage,
  offsetQuery,
  type PluginContext,
  pageOf,
  type Tenant,
  Type,
} from '#sdk'
import { Members } from './collections.ts'
import * as examples from './examples.ts'
import { MemberOutput, MemberUpdate, memberOutput, ownerOutput } from './schemas.ts'

const noMember = (id: string) => notFound('member_not_found', id)

const isOwner = (what: string) =>
  new AppError('unprocessable', `The owner of the tenant cannot be ${what}. Choose another member.`)

/** Calls on the members of the calling key's tenant (completions §9a). */
export const memberOperations = (context: PluginContext) => {
  const members = () => context.records(Members)

  const tenantOf = async (id: string): Promise<Tenant> => {
    const tenant = await context.tenants.get(id)
    if (tenant === undefined)
      throw new AppError('tenant_not_found', 'The tenant of this key does not exist any more.')
    return tenant
  }

  return [
    defineOperation({
      rpc: 'Members.List',
      http: 'GET /tenants/self/members',
      summary: 'List the members of the tenant',
      permission: 'tenant:member:read',
      audit: 'none',
      input: Type.Object(offsetQuery),
      output: listOf(MemberOutput),
      examples: examples.listMembers,
      run: async (input, { caller }) => {
        const { tenantId } = caller
        const asked = pageOf(input)
        const tenant = await tenantOf(tenantId)
        const result = await members().find(tenantId, asked)
        const shown = result.items.map((member) => memberOutput(tenantId, member))
        // Newest first: the owner is the last.
        const place = result.total - (asked.page - 1) * asked.size
        if (place >= 0 && place < asked.size) shown.push(ownerOutput(tenant))
        return offsetPage(shown, result.total + 1, asked)
      },
    }),
    defineOperation({
      rpc: 'Members.Get',
      http: 'GET /tenants/self/members/{id}',
      summary: 'Get a member of the tenant',
      permission: 'tenant:member:read',
      audit: 'none',
      input: EntityId,
      output: MemberOutput,
      examples: examples.getMember,
      run: async ({ id }, { caller }) => {
        const tenant = await tenantOf(caller.tenantId)
        if (id === tenant.owner_id) return ownerOutput(tenant)
        const member = await members().get(caller.tenantId, id)
        if (member === undefined) throw noMember(id)
        return memberOutput(caller.tenantId, member)
      },
    }),
    defineOperation({
      rpc: 'Members.Update',
      http: 'PUT /tenants/self/members/{id}',
      summary: 'Change the role of a member',
      permission: 'tenant:member:update',
      audit: { entity: 'tenant_member', verb: 'update' },
      input: MemberUpdate,
      output: MemberOutput,
      errors: ['unprocessable'],
      examples: examples.updateMember,
      run: async ({ id, role }, { caller, now }) => {
        if (id === (await tenantOf(caller.tenantId)).owner_id) throw isOwner('given another role')
        const member = await members().update(caller.tenantId, id, (current) => ({
          ...current,
          role,
          modified_by: caller.actorId,
          modified_at: now,
        }))
        if (member === undefined) throw noMember(id)
        return memberOutput(caller.tenantId, member)
      },
    }),
    defineOperation({
      rpc: 'Members.Delete',
      http: 'DELETE /tenants/self/members/{id}',
      summary: 'Remove a member from the tenant',
      permission: 'tenant:member:delete',
      audit: { entity: 'tenant_member', verb: 'delete' },
      input: EntityId,
      output: Empty,
      status: 204,
      errors: ['unprocessable'],
      examples: examples.removeMember,
      run: async ({ id }, { caller }) => {
        if (id === (await tenantOf(caller.tenantId)).owner_id) throw isOwner('removed')
        if (!(await members().delete(caller.tenantId, id))) throw noMember(id)
        return {}
      },
    }),
  ]
}
