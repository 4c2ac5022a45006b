import { field, isoTime, nullable, type Static, type Tenant, Type } from '#sdk'

/** A string that holds a boolean (interface, "Tenant Settings"). */
const flag = (number: number, description: string) =>
  Type.Optional(Type.String({ pattern: '^([tT]rue|[fF]alse|TRUE|FALSE)$', field: number, description }))

const TenantSettings = Type.Object(
  {
    fingerprint_tokens: flag(1, "Fingerprint all tokens by their type's default expression: true or false."),
    deduplicate_tokens: flag(2, 'Return an equal token instead of creating another: true or false.'),
    strict_code: flag(3, 'Reject code that does not parse, instead of a warning: true or false.'),
    grants_within_own: flag(
      4,
      'A caller grants only what it holds: true or false; default true. To turn it off, a caller must hold all that any management application holds.',
    ),
    unbound_destinations: Type.Optional(
      Type.String({
        pattern: '^([dD]eny|[tT]unnel|DENY|TUNNEL)$',
        field: 5,
        description:
          'Tunnels of the forward proxy to hosts that nothing binds: `deny` (default), or `tunnel`: passed on unopened.',
      }),
    ),
    response_guard: Type.Optional(
      Type.String({
        pattern: '^([oO]ff|OFF|[rR]eport|REPORT|[rR]eplace|REPLACE|[bB]lock|BLOCK)$',
        field: 6,
        description:
          'What the response guard does with a value of a request that comes back, at least: `off` (default), `report`, `replace` or `block`. Administrators loosen it.',
      }),
    ),
  },
  { title: 'TenantSettings' },
)

const DEFAULTS: Static<typeof TenantSettings> = {
  fingerprint_tokens: 'false',
  deduplicate_tokens: 'false',
  strict_code: 'false',
  grants_within_own: 'true',
  unbound_destinations: 'deny',
  response_guard: 'off',
}

/** The interface's Tenant. */
export const TenantOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    owner_id: Type.String({ field: 2 }),
    name: Type.String({ field: 3 }),
    settings: field(4, TenantSettings),
    created_by: Type.Optional(Type.String({ field: 5 })),
    created_at: Type.Optional(Type.String({ format: 'date-time', field: 6 })),
    modified_by: Type.Optional(Type.String({ field: 7 })),
    modified_at: Type.Optional(Type.String({ format: 'date-time', field: 8 })),
  },
  { title: 'Tenant' },
)

export const TenantUpdate = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200, field: 1 }),
  settings: nullable(2, TenantSettings),
})

/** A tenant as the API shows it, with every setting. */
export const tenantOutput = (tenant: Tenant): Static<typeof TenantOutput> => ({
  id: tenant.id,
  owner_id: tenant.owner_id,
  name: tenant.name,
  settings: { ...DEFAULTS, ...tenant.settings },
  ...(tenant.created_by === undefined ? {} : { created_by: tenant.created_by }),
  created_at: isoTime(tenant.created_at),
  ...(tenant.modified_by === undefined ? {} : { modified_by: tenant.modified_by }),
  ...(tenant.modified_at === undefined ? {} : { modified_at: isoTime(tenant.modified_at) }),
})
