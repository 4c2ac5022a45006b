import { isoTime, nullable, type Static, type Tenant, Type } from '#sdk'
import type { InvitationRecord, MemberRecord } from './collections.ts'

/** The role that cannot be assigned: a tenant has one owner. */
const OWNER = 'OWNER'

const role = Type.String({ pattern: '^(?!OWNER$)[A-Z][A-Z_]{0,49}$', description: 'E.g. ADMIN.' })

export const MemberUpdate = Type.Object({
  id: Type.String({ field: 1 }),
  role: Type.String({ ...role, field: 2 }),
})

export const InvitationInput = Type.Object({
  email: Type.String({ format: 'email', maxLength: 320, field: 1 }),
  role: nullable(2, role),
})

const text = (field: number) => Type.Optional(Type.String({ field }))
const time = (field: number) => Type.Optional(Type.String({ format: 'date-time', field }))

export const MemberOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    tenant_id: Type.String({ field: 2 }),
    role: Type.String({ field: 3 }),
    user: Type.Object({ id: Type.String({ field: 1 }), email: text(2) }, { title: 'MemberUser', field: 4 }),
    created_by: text(5),
    created_at: time(6),
    modified_by: text(7),
    modified_at: time(8),
  },
  { title: 'Member' },
)

export const InvitationOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    tenant_id: Type.String({ field: 2 }),
    email: Type.String({ field: 3 }),
    role: Type.String({ field: 4 }),
    status: Type.Enum(['PENDING', 'EXPIRED'], { field: 5 }),
    expires_at: Type.String({ format: 'date-time', field: 6 }),
    created_by: text(7),
    created_at: time(8),
    modified_by: text(9),
    modified_at: time(10),
  },
  { title: 'Invitation' },
)

const changesOf = (record: MemberRecord | InvitationRecord) => ({
  created_by: record.created_by,
  created_at: isoTime(record.created_at),
  ...(record.modified_by === undefined ? {} : { modified_by: record.modified_by }),
  ...(record.modified_at === undefined ? {} : { modified_at: isoTime(record.modified_at) }),
})

/** The owner as a member, from the tenant's creation to its deletion. */
export const ownerOutput = (tenant: Tenant): Static<typeof MemberOutput> => ({
  id: tenant.owner_id,
  tenant_id: tenant.id,
  role: OWNER,
  user: { id: tenant.owner_id },
  created_at: isoTime(tenant.created_at),
})

export const memberOutput = (tenantId: string, member: MemberRecord): Static<typeof MemberOutput> => ({
  id: member.id,
  tenant_id: tenantId,
  role: member.role,
  user: { id: member.user_id, ...(member.email === undefined ? {} : { email: member.email }) },
  ...changesOf(member),
})

export const invitationOutput = (
  tenantId: string,
  invitation: InvitationRecord,
  now: number,
): Static<typeof InvitationOutput> => ({
  id: invitation.id,
  tenant_id: tenantId,
  email: invitation.email,
  role: invitation.role,
  status: invitation.expires_at > now ? 'PENDING' : 'EXPIRED',
  expires_at: isoTime(invitation.expires_at),
  ...changesOf(invitation),
})
