import { defineOperation, isoTime, type PluginContext, Type } from '#sdk'
import * as examples from './examples.ts'

const DelegationOutput = Type.Object(
  {
    name: Type.String({ field: 1, description: 'Of the gateways that have the key.' }),
    status: Type.String({ field: 2, description: '`active`, or `revoked`: its gateways open nothing.' }),
    created_at: Type.Optional(Type.String({ format: 'date-time', field: 3, description: 'While active.' })),
    revoked_at: Type.Optional(Type.String({ format: 'date-time', field: 4 })),
    data_key_versions: Type.Array(Type.Integer(), {
      field: 5,
      description: 'Versions of the data key that it opens; none when revoked.',
    }),
  },
  { title: 'Delegation' },
)

/** Delegated keys of the caller's tenant, without the keys (completions §21). */
export const listDelegations = (context: PluginContext) =>
  defineOperation({
    rpc: 'Tenants.ListDelegations',
    http: 'GET /tenants/self/delegations',
    summary: 'List the gateways that hold a key for this tenant only',
    description: 'By name, revoked ones included. Commands create and revoke them.',
    permission: 'tenant:read',
    audit: 'none',
    input: Type.Object({}),
    output: Type.Object({ data: Type.Array(DelegationOutput, { field: 1 }) }, { title: 'Delegations' }),
    examples: examples.delegations,
    run: async (_input, { caller }) => ({
      data: (await context.delegations(caller.tenantId)).map(({ name, isRevoked, at, versions }) => ({
        name,
        status: isRevoked ? 'revoked' : 'active',
        [isRevoked ? 'revoked_at' : 'created_at']: isoTime(at),
        data_key_versions: [...versions],
      })),
    }),
  })
