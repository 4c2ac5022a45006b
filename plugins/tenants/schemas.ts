import { Type } from 'typebox'
import { isoTime, type Tenant } from '#sdk'

/** Values are strings that hold a boolean (interface, "Tenant Settings"). */
const TenantSettings = Type.Object(
  {
    fingerprint_tokens: Type.Optional(Type.String({ field: 1 })),
    deduplicate_tokens: Type.Optional(Type.String({ field: 2 })),
  },
  { field: 4 },
)

/** The interface's Tenant. */
export const TenantOutput = Type.Object({
  id: Type.String({ field: 1 }),
  owner_id: Type.String({ field: 2 }),
  name: Type.String({ field: 3 }),
  settings: TenantSettings,
  created_by: Type.Optional(Type.String({ field: 5 })),
  created_at: Type.Optional(Type.String({ format: 'date-time', field: 6 })),
  modified_by: Type.Optional(Type.String({ field: 7 })),
  modified_at: Type.Optional(Type.String({ format: 'date-time', field: 8 })),
})

/** A tenant as the API shows it. */
export const tenantOutput = (tenant: Tenant): Type.Static<typeof TenantOutput> => ({
  id: tenant.id,
  owner_id: tenant.owner_id,
  name: tenant.name,
  settings: { ...tenant.settings },
  ...(tenant.created_by === undefined ? {} : { created_by: tenant.created_by }),
  created_at: isoTime(tenant.created_at),
  ...(tenant.modified_by === undefined ? {} : { modified_by: tenant.modified_by }),
  ...(tenant.modified_at === undefined ? {} : { modified_at: isoTime(tenant.modified_at) }),
})
