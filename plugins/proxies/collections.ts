import { changeMembers, guardMember } from '#kit'
import { type Static, type Surface, Type } from '#sdk'
import { StoredTls } from './destination-tls.ts'

const Transform = Type.Object({ code: Type.String() })
const ResponseTransform = Type.Object({
  ...Transform.properties,
  otherwise: Type.Optional(Type.Enum(['fail', 'pass'])),
})

/**
 * A proxy as it is stored; times in ms since the epoch. Members that may hold a secret are sealed; the key is
 * found by its keyed hash.
 */
export const Proxies = {
  name: 'proxies',
  schema: Type.Object({
    id: Type.String(),
    key: Type.String(),
    key_hash: Type.String(),
    name: Type.String(),
    destination_url: Type.String(),
    require_auth: Type.Boolean(),
    request_transform: Type.Optional(Transform),
    response_transform: Type.Optional(ResponseTransform),
    application_id: Type.Optional(Type.String()),
    configuration: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    destination_tls: Type.Optional(StoredTls),
    evaluate: Type.Optional(Type.Unsafe<readonly Surface[]>(Type.Array(Type.String()))),
    intercept: Type.Optional(Type.Boolean()),
    /** With `intercept`: the destination's host; host, port and path. */
    bound_host: Type.Optional(Type.String()),
    binding: Type.Optional(Type.String()),
    request_reactor_id: Type.Optional(Type.String()),
    response_reactor_id: Type.Optional(Type.String()),
    response_guard: guardMember,
    /** Version, author and time of the transforms; absent: the first ones, made with the proxy. */
    code_version: Type.Optional(Type.Integer()),
    code_by: Type.Optional(Type.String()),
    code_at: Type.Optional(Type.Integer()),
    ...changeMembers,
  }),
  lookups: ['key_hash'],
  indexes: ['bound_host', 'application_id'],
  unique: ['binding'],
  hosts: 'bound_host',
  sealed: [
    'key',
    'destination_url',
    'request_transform',
    'response_transform',
    'configuration',
    'destination_tls',
    'binding',
  ],
} as const

export type ProxyRecord = Static<(typeof Proxies)['schema']>

/** Former transforms of a proxy. The current ones are in the proxy. */
export const ProxyVersions = {
  name: 'proxy_versions',
  schema: Type.Object({
    id: Type.String(),
    proxy_id: Type.String(),
    version: Type.Integer(),
    request_transform: Type.Optional(Transform),
    response_transform: Type.Optional(ResponseTransform),
    created_by: Type.String(),
    created_at: Type.Integer(),
  }),
  indexes: ['proxy_id'],
  sealed: ['request_transform', 'response_transform'],
} as const

export type VersionRecord = Static<(typeof ProxyVersions)['schema']>
