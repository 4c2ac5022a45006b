import { type Static, Type } from '#sdk'

const Key = Type.Object({ application_id: Type.String(), key_id: Type.String() })

/** A console session as it is stored; times in ms since the epoch. The cookie's secret is stored as a keyed hash. */
export const ConsoleSessions = {
  name: 'console_sessions',
  schema: Type.Object({
    id: Type.String(),
    secret_hash: Type.String(),
    /** The keys that it was signed in with, by id; at least one. */
    management: Type.Optional(Key),
    private: Type.Optional(Key),
    created_at: Type.Integer(),
    /** Last use, to the minute. */
    last_seen: Type.Integer(),
    /** The end unless it is used before: it moves with `last_seen`. */
    expires_at: Type.Integer(),
  }),
  lookups: ['secret_hash'],
  expires: 'expires_at',
} as const

export type ConsoleSessionRecord = Static<(typeof ConsoleSessions)['schema']>
