import type { Static } from 'typebox'
import type { Json } from '../common/json.ts'
import { Type } from '../common/json-schema.ts'
import { field, nullable } from './schemas.ts'
import type { Surface } from './surfaces.ts'

/** Bounds of a list of destinations (completions §14). */
const DESTINATION_LIMITS = { list: 20, ports: 20, surfaces: 20, path: 400, surface: 250 } as const

/** Methods of /proxy, of requests inside tunnels, and of code. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const { list, ports, surfaces, path, surface } = DESTINATION_LIMITS

/** A destination as a caller sends it (completions §14). */
export const AllowedDestinationInput = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 300,
      field: 1,
      description: 'A DNS name, "*." and a name (exactly one label more), or an IP address.',
    }),
    ports: nullable(
      2,
      Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        minItems: 1,
        maxItems: ports,
        description: 'Default: 443.',
      }),
    ),
    methods: nullable(
      3,
      Type.Array(Type.Enum(METHODS), { minItems: 1, maxItems: 20, description: 'Default: any.' }),
    ),
    path: nullable(
      4,
      Type.String({
        minLength: 1,
        maxLength: path,
        description: 'A pattern: "*" stands for one segment, "**" at the end for the rest. Default: any.',
      }),
    ),
    surfaces: nullable(
      5,
      Type.Array(Type.String({ maxLength: surface }), {
        minItems: 1,
        maxItems: surfaces,
        description: 'Parts of the request: body, path, header:<name>, query:<name>. Default: any.',
      }),
    ),
  },
  { title: 'AllowedDestinationInput' },
)
export type AllowedDestinationInput = Static<typeof AllowedDestinationInput>

/** A destination as it is stored and returned: normalized, so that a check compares text. */
export const AllowedDestination = Type.Object(
  {
    host: Type.String({ field: 1 }),
    ports: Type.Array(Type.Integer(), { field: 2 }),
    methods: Type.Optional(Type.Array(Type.String(), { field: 3 })),
    path: Type.Optional(Type.String({ field: 4 })),
    surfaces: Type.Optional(Type.Array(Type.String(), { field: 5 })),
  },
  { title: 'AllowedDestination' },
)

/** Host without brackets and final dot; `ports`, `methods` and `surfaces` each once. Absent members allow any. */
export interface AllowedDestination {
  readonly host: string
  readonly ports: readonly number[]
  readonly methods?: readonly string[]
  readonly path?: string
  readonly surfaces?: readonly Surface[]
}

/** Destinations of which one must allow a request. */
export type DestinationList = readonly AllowedDestination[]

/** Where a token's value may go (completions §14); at least one member is set. */
export interface EgressLimits {
  readonly destinations?: DestinationList
  /** Only requests of proxies hold the value; readers and code get its mask at most. */
  readonly egress_only?: true
}

/** The member `destinations` of a request. */
export const destinationsInput = (number: number) =>
  nullable(
    number,
    Type.Array(AllowedDestinationInput, {
      minItems: 1,
      maxItems: list,
      description: 'Where values may be sent. Default: anywhere that the egress rules allow.',
    }),
  )

/** The member `destinations` of a response. */
export const destinationsOutput = (number: number) =>
  Type.Optional(field(number, Type.Unsafe<DestinationList>(Type.Array(AllowedDestination))))

/** A request as it is dialed: what lists are compared with. */
export interface OutboundDestination {
  /** Lower-case DNS name, or an address (IPv6 in brackets). */
  readonly host: string
  readonly port: number
  readonly method: string
  /**
   * Path of the outgoing request, with or without its query. A segment with `{{`, percent-encoded or not, is opaque: an
   * expression.
   */
  readonly path: string
}

/** Where one run of code may send the values that it was given (completions §14). */
export interface CodeScope {
  /** The destination of the proxy whose transform runs; undefined: a reactor, which has none. */
  readonly destination: OutboundDestination | undefined
  /** Whether a value was given whose destinations are limited. */
  readonly isLimited: boolean
  /** The code is given a value that may go to these destinations only. */
  limit(list: DestinationList): void
  /** The code is given the data of a token as it is. May throw. Absent: it is not noted. */
  readonly given?: ((token: { readonly id: string; readonly data: Json }) => void) | undefined
  /** Throws `destination_not_allowed` unless each of these lists allows a request of the code. */
  check(destination: OutboundDestination): void
}
