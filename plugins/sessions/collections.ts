import { type Static, Type } from '#sdk'
import { StoredRule } from './schemas.ts'

/** A session as it is stored; times in ms since the epoch. Key and nonce are stored as keyed hashes. */
export const Sessions = {
  name: 'sessions',
  schema: Type.Object({
    id: Type.String(),
    application_id: Type.String(),
    key_hash: Type.String(),
    nonce_hash: Type.String(),
    permissions: Type.Array(Type.String()),
    rules: Type.Array(StoredRule),
    expires_at: Type.Integer(),
    created_by: Type.String(),
    created_at: Type.Integer(),
    /** The application that authorized it, and its key; absent until then. */
    authorized_by: Type.Optional(Type.String()),
    authorized_key: Type.Optional(Type.String()),
    authorized_at: Type.Optional(Type.Integer()),
  }),
  lookups: ['key_hash', 'nonce_hash'],
  expires: 'expires_at',
} as const

export type SessionRecord = Static<(typeof Sessions)['schema']>
