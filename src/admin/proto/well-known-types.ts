/** Descriptors of well-known files. The library's own forms differ from the originals in points that clients check. */
type Descriptor = Readonly<Record<string, unknown>>

const OPTIONAL = 'LABEL_OPTIONAL'

const camel = (name: string) => name.replaceAll(/_([a-z])/g, (_, next: string) => next.toUpperCase())

const field = (name: string, number: number, type: string, typeName?: string): Descriptor => ({
  name,
  jsonName: camel(name),
  number,
  label: OPTIONAL,
  type,
  ...(typeName === undefined ? {} : { typeName }),
})

const message = (name: string, number: number, typeName: string) =>
  field(name, number, 'TYPE_MESSAGE', typeName)

/** A map of text to messages, and the entries it is made of on the wire. */
const map = (name: string, number: number, owner: string, entry: string, value: string) => ({
  field: [{ ...message(name, number, `${owner}.${entry}`), label: 'LABEL_REPEATED' }],
  nestedType: [
    {
      name: entry,
      field: [field('key', 1, 'TYPE_STRING'), message('value', 2, value)],
      options: { mapEntry: true },
    },
  ],
})

const VALUE = '.google.protobuf.Value'
const STRUCT = '.google.protobuf.Struct'
const LIST = '.google.protobuf.ListValue'

const kinds = [
  field('null_value', 1, 'TYPE_ENUM', '.google.protobuf.NullValue'),
  field('number_value', 2, 'TYPE_DOUBLE'),
  field('string_value', 3, 'TYPE_STRING'),
  field('bool_value', 4, 'TYPE_BOOL'),
  message('struct_value', 5, STRUCT),
  message('list_value', 6, LIST),
]

/** https://protobuf.dev/reference/protobuf/google.protobuf/#struct */
export const structFile: Descriptor = {
  name: 'google/protobuf/struct.proto',
  package: 'google.protobuf',
  messageType: [
    { name: 'Struct', ...map('fields', 1, STRUCT, 'FieldsEntry', VALUE) },
    {
      name: 'Value',
      field: kinds.map((kind) => ({ ...kind, oneofIndex: 0 })),
      oneofDecl: [{ name: 'kind' }],
    },
    { name: 'ListValue', field: [{ ...message('values', 1, VALUE), label: 'LABEL_REPEATED' }] },
  ],
  enumType: [{ name: 'NullValue', value: [{ name: 'NULL_VALUE', number: 0 }] }],
  syntax: 'proto3',
}

const REQUEST = '.grpc.health.v1.HealthCheckRequest'
const RESPONSE = '.grpc.health.v1.HealthCheckResponse'
const LIST_RESPONSE = '.grpc.health.v1.HealthListResponse'

/** https://grpc.io/docs/guides/health-checking/ */
export const healthFile: Descriptor = {
  name: 'grpc/health/v1/health.proto',
  package: 'grpc.health.v1',
  messageType: [
    { name: 'HealthCheckRequest', field: [field('service', 1, 'TYPE_STRING')] },
    {
      name: 'HealthCheckResponse',
      field: [field('status', 1, 'TYPE_ENUM', `${RESPONSE}.ServingStatus`)],
      enumType: [
        {
          name: 'ServingStatus',
          value: ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'].map((name, number) => ({
            name,
            number,
          })),
        },
      ],
    },
    { name: 'HealthListRequest' },
    { name: 'HealthListResponse', ...map('statuses', 1, LIST_RESPONSE, 'StatusesEntry', RESPONSE) },
  ],
  service: [
    {
      name: 'Health',
      method: [
        { name: 'Check', inputType: REQUEST, outputType: RESPONSE },
        { name: 'List', inputType: '.grpc.health.v1.HealthListRequest', outputType: LIST_RESPONSE },
        { name: 'Watch', inputType: REQUEST, outputType: RESPONSE, serverStreaming: true },
      ],
    },
  ],
  syntax: 'proto3',
}
