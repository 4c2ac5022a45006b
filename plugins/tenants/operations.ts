import { createGuardChangeCheck, endOf, holds, isAdministrator } from '#kit'
import {
  AppError,
  type Call,
  type Caller,
  defineOperation,
  Empty,
  type GuardMode,
  type PluginContext,
  Type,
} from '#sdk'
import * as examples from './examples.ts'
import { TenantOutput, TenantUpdate, tenantOutput } from './schemas.ts'

const gone = () => new AppError('tenant_not_found', 'The tenant of this key does not exist any more.')

const ofCaller = ({ caller }: Call): string => caller.tenantId

/**
 * Throws `forbidden` unless the bound on grants is off already, or the caller holds all management permissions and does
 * not expire.
 */
const mayLoosen = async (context: PluginContext, caller: Caller): Promise<void> => {
  if ((await context.tenants.get(caller.tenantId))?.settings.grants_within_own === 'false') return
  const held = await context.port('applications')?.managementPermissions(caller.tenantId)
  const holdsAll =
    isAdministrator(caller) && [...(held ?? [])].every((permission) => holds(caller, permission))
  if (holdsAll && (await endOf(context, caller)) === Infinity) return
  throw new AppError(
    'forbidden',
    'To turn "grants_within_own" off, the caller must hold every permission that a management application of the tenant holds, and not expire. Use the key of such an application.',
  )
}

/** Throws `forbidden` unless the caller may put this mode of the response guard in the place of the tenant's. */
const checkGuardChange = async (context: PluginContext, caller: Caller, after?: string): Promise<void> => {
  const before = (await context.tenants.get(caller.tenantId))?.settings.response_guard
  const check = await createGuardChangeCheck(context, caller)
  check(before as GuardMode | undefined, after?.toLowerCase() as GuardMode | undefined)
}

/** Operations on the tenant of the calling key. */
export const tenantOperations = (context: PluginContext) => [
  defineOperation({
    rpc: 'Tenants.Get',
    http: 'GET /tenants/self',
    summary: 'Get the tenant of the calling key',
    permission: 'tenant:read',
    audit: 'none',
    input: Type.Object({}),
    output: TenantOutput,
    examples: examples.get,
    run: async (_input, { caller }) => {
      const tenant = await context.tenants.get(caller.tenantId)
      if (tenant === undefined) throw gone()
      return tenantOutput(tenant)
    },
  }),
  defineOperation({
    rpc: 'Tenants.Update',
    http: 'PUT /tenants/self',
    summary: 'Replace name and settings of the tenant',
    description: 'Settings stay as they are when they are left out; when sent, they are replaced.',
    permission: 'tenant:update',
    audit: { entity: 'tenant', verb: 'update', id: ofCaller },
    input: TenantUpdate,
    output: TenantOutput,
    examples: examples.update,
    run: async ({ name, settings }, { caller, now }) => {
      if (settings?.grants_within_own?.toLowerCase() === 'false') await mayLoosen(context, caller)
      if (settings) await checkGuardChange(context, caller, settings.response_guard)
      const lowered = Object.entries(settings ?? {}).map(([setting, value]) => [setting, value.toLowerCase()])
      const tenant = await context.tenants.update({
        id: caller.tenantId,
        name,
        ...(settings ? { settings: Object.fromEntries(lowered) } : {}),
        modified_by: caller.actorId,
        modified_at: now,
      })
      if (tenant === undefined) throw gone()
      return tenantOutput(tenant)
    },
  }),
  defineOperation({
    rpc: 'Tenants.Delete',
    http: 'DELETE /tenants/self',
    summary: 'Delete the tenant, its keys and everything it owns, for good',
    permission: 'tenant:delete',
    audit: { entity: 'tenant', verb: 'delete', id: ofCaller },
    input: Type.Object({}),
    output: Empty,
    status: 204,
    examples: examples.remove,
    run: async (_input, { caller }) => {
      if (!(await context.tenants.delete(caller.tenantId))) throw gone()
      return {}
    },
  }),
]
