import { Type } from 'typebox'
import { AppError, defineOperation, type Kernel } from '#sdk'
import { TenantOutput, tenantOutput } from './schemas.ts'

export const getSelf = (kernel: Kernel) =>
  defineOperation({
    rpc: 'Tenants.Get',
    http: 'GET /tenants/self',
    summary: 'Get the tenant of the calling key',
    permission: 'tenant:read',
    audit: 'none',
    input: Type.Object({}),
    output: TenantOutput,
    run: async (_input, call) => {
      const tenant = await kernel.tenants.get(call.caller.tenantId)
      if (tenant === undefined)
        throw new AppError('not_found', 'The tenant of this key does not exist any more.')
      return tenantOutput(tenant)
    },
  })
