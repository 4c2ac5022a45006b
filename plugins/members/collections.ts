import { changeMembers } from '#kit'
import { type Static, Type } from '#sdk'

/** A member besides the tenant's owner; times in ms since the epoch. */
export const Members = {
  name: 'members',
  schema: Type.Object({
    id: Type.String(),
    role: Type.String(),
    user_id: Type.String(),
    email: Type.Optional(Type.String()),
    ...changeMembers,
  }),
  sealed: ['email'],
} as const

export const Invitations = {
  name: 'invitations',
  schema: Type.Object({
    id: Type.String(),
    email: Type.String(),
    role: Type.String(),
    expires_at: Type.Integer(),
    ...changeMembers,
  }),
  sealed: ['email'],
} as const

export type MemberRecord = Static<(typeof Members)['schema']>
export type InvitationRecord = Static<(typeof Invitations)['schema']>
