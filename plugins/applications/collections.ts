import { changeMembers, guardMember } from '#kit'
import { destinationsOutput, type Static, Type } from '#sdk'
import { ApplicationTypes, StoredRule } from './schemas.ts'

/** An application as it is stored; times in ms since the epoch. */
export const Applications = {
  name: 'applications',
  schema: Type.Object({
    id: Type.String(),
    name: Type.String(),
    type: ApplicationTypes,
    permissions: Type.Array(Type.String()),
    rules: Type.Array(StoredRule),
    /** How many keys it ever had: the version of the next one is one more. */
    keys_made: Type.Integer(),
    expires_at: Type.Optional(Type.Integer()),
    destinations: destinationsOutput(1),
    /** Hosts of the application's destinations and of its rules'. Private applications only. */
    bound_hosts: Type.Optional(Type.Array(Type.String())),
    response_guard: guardMember,
    allowed_origins: Type.Optional(Type.Array(Type.String())),
    ...changeMembers,
  }),
  indexes: ['type'],
  hosts: 'bound_hosts',
  origins: 'allowed_origins',
} as const

/** A key of an application, stored as a keyed hash. */
export const ApplicationKeys = {
  name: 'application_keys',
  schema: Type.Object({
    id: Type.String(),
    application_id: Type.String(),
    key_hash: Type.String(),
    version: Type.Integer(),
    /** Expiry of a key for one run of a command, ms since the epoch. Absent: it works until it is deleted. */
    expires_at: Type.Optional(Type.Integer()),
    created_by: Type.String(),
    created_at: Type.Integer(),
  }),
  indexes: ['application_id'],
  lookups: ['key_hash'],
  expires: 'expires_at',
} as const

export type ApplicationRecord = Static<(typeof Applications)['schema']>
export type KeyRecord = Static<(typeof ApplicationKeys)['schema']>
