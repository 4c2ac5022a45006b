import {
  BODY_ONLY,
  CODE_LENGTH,
  CONFIGURATION_MEMBERS,
  guardInput,
  guardOutput,
  MAX_SURFACES,
  Reference,
  warningsOf,
} from '#kit'
import { type CodeWarning, field, isoTime, nullable, type Static, Type } from '#sdk'
import type { ProxyRecord, VersionRecord } from './collections.ts'
import { DestinationTlsInput, DestinationTlsOutput, showDestinationTls } from './destination-tls.ts'

const TransformInput = Type.Object(
  {
    code: nullable(1, Type.String({ maxLength: CODE_LENGTH })),
    otherwise: Type.Optional(
      Type.Unsafe<'fail' | 'pass' | null>({
        enum: ['fail', 'pass', null],
        description:
          'Of a response transform: a 2xx response that is neither JSON nor a form is 502 (`fail`, the default) or goes to the caller unchanged (`pass`).',
        field: 2,
      }),
    ),
  },
  { title: 'ProxyTransformInput' },
)
const configuration = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: CONFIGURATION_MEMBERS,
})
const reactorId = Type.String({ maxLength: 200 })
const name = Type.String({ minLength: 1, maxLength: 200 })
const destinationUrl = Type.String({ minLength: 1, maxLength: 400 })

const transforms = {
  request_transform: nullable(3, TransformInput),
  response_transform: nullable(4, TransformInput),
}

/** Body of a check of code. */
export const ProxyCode = Type.Object(transforms)

/** Members that may be left out, or null. */
const optional = {
  ...transforms,
  application: nullable(5, Reference),
  configuration: nullable(6, configuration),
  require_auth: nullable(7, Type.Boolean({ description: 'Default: true.' })),
  request_reactor_id: nullable(8, reactorId),
  response_reactor_id: nullable(9, reactorId),
  destination_tls: nullable(10, DestinationTlsInput),
  evaluate: nullable(
    11,
    Type.Array(Type.String(), {
      maxItems: MAX_SURFACES,
      description:
        'Where in a request expressions are evaluated: `body`, `path`, `header:<name>`, `query:<name>`. Default: `["body"]`; `[]`: nowhere.',
    }),
  ),
  intercept: nullable(
    12,
    Type.Boolean({
      description:
        'Intercept requests of the forward proxy to host, port and path prefix of the destination, which must be https://. Default: false.',
    }),
  ),
  response_guard: guardInput(13),
}

/** Body of a create and of an update. */
export const ProxyInput = Type.Object({
  name: field(1, name),
  destination_url: field(2, destinationUrl),
  ...optional,
})

const id = Type.String({ field: 100 })

export const ProxyUpdate = Type.Object({ id, ...ProxyInput.properties })

/** A JSON merge patch (RFC 7386) of a proxy. */
export const ProxyPatch = Type.Object({
  id,
  name: nullable(1, name),
  destination_url: nullable(2, destinationUrl),
  ...optional,
})

const transform = (number: number) =>
  Type.Optional(
    Type.Object(
      {
        code: Type.String({ field: 1 }),
        otherwise: Type.Optional(Type.Enum(['fail', 'pass'], { field: 2 })),
      },
      { title: 'ProxyTransform', field: number },
    ),
  )

/** The interface's Proxy. */
export const ProxyOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    key: Type.String({ field: 2 }),
    name: Type.String({ field: 3 }),
    destination_url: Type.String({ field: 4 }),
    tenant_id: Type.String({ field: 5 }),
    require_auth: Type.Boolean({ field: 6 }),
    request_transform: transform(7),
    response_transform: transform(8),
    application_id: Type.Optional(Type.String({ field: 9 })),
    configuration: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { field: 10 })),
    request_reactor_id: Type.Optional(Type.String({ field: 11 })),
    response_reactor_id: Type.Optional(Type.String({ field: 12 })),
    created_by: Type.Optional(Type.String({ field: 13 })),
    created_at: Type.Optional(Type.String({ format: 'date-time', field: 14 })),
    modified_by: Type.Optional(Type.String({ field: 15 })),
    modified_at: Type.Optional(Type.String({ format: 'date-time', field: 16 })),
    warnings: warningsOf(17),
    destination_tls: Type.Optional(field(18, DestinationTlsOutput)),
    evaluate: Type.Array(Type.String(), { field: 19 }),
    intercept: Type.Boolean({ field: 20 }),
    response_guard: guardOutput(21),
  },
  { title: 'Proxy' },
)

/** The transforms that a proxy has, or had. */
export const ProxyVersion = Type.Object(
  {
    version: Type.Integer({ field: 1, description: 'Counts the changes of the transforms, from 1.' }),
    created_at: Type.String({ format: 'date-time', field: 2 }),
    created_by: Type.String({ field: 3 }),
    request_transform: transform(4),
    response_transform: transform(5),
  },
  { title: 'ProxyVersion' },
)

export const proxyVersion = ({
  proxy_id: _,
  created_at,
  ...version
}: Omit<VersionRecord, 'id'>): Static<typeof ProxyVersion> => ({
  ...version,
  created_at: isoTime(created_at),
})

/** A proxy as the API returns it. */
export const proxyOutput = (
  tenantId: string,
  {
    key_hash: _,
    bound_host: _host,
    binding: _binding,
    code_version: _version,
    code_by: _by,
    code_at: _at,
    destination_tls,
    evaluate = BODY_ONLY,
    created_at,
    modified_at,
    ...proxy
  }: ProxyRecord,
  warnings: readonly CodeWarning[] = [],
): Static<typeof ProxyOutput> => ({
  ...proxy,
  intercept: proxy.intercept ?? false,
  tenant_id: tenantId,
  evaluate: [...evaluate],
  created_at: isoTime(created_at),
  ...(modified_at === undefined ? {} : { modified_at: isoTime(modified_at) }),
  ...(destination_tls === undefined ? {} : { destination_tls: showDestinationTls(destination_tls) }),
  ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
})
