import { createRequire } from 'node:module'
import protobuf from 'protobufjs'
import { type Field, hasPresence, type Item, type Message, type Scalar } from '../../kernel/messages/model.ts'
import { PACKAGE, type ProtoFile, typeName } from './files.ts'
import { healthFile, structFile } from './well-known-types.ts'

/** Members of descriptor.proto as its JSON spells them (https://protobuf.dev/reference/protobuf/google.protobuf). */
type Descriptor = Readonly<Record<string, unknown>>

const SCALARS: Readonly<Record<Scalar, string>> = {
  string: 'TYPE_STRING',
  bool: 'TYPE_BOOL',
  int32: 'TYPE_INT32',
  int64: 'TYPE_INT64',
  double: 'TYPE_DOUBLE',
}

const OPTIONAL = 'LABEL_OPTIONAL'
const REPEATED = 'LABEL_REPEATED'

const camel = (name: string) => name.replaceAll(/_+([a-zA-Z0-9])/g, (_, next: string) => next.toUpperCase())

const pascal = (name: string) => {
  const joined = camel(`_${name}`)
  return joined.charAt(0).toUpperCase() + joined.slice(1)
}

const field = (name: string, number: number, item: Item, label = OPTIONAL): Descriptor => ({
  name,
  jsonName: camel(name),
  number,
  label,
  ...(item.kind === 'scalar'
    ? { type: SCALARS[item.type] }
    : {
        type: 'TYPE_MESSAGE',
        typeName: item.kind === 'message' ? `.${PACKAGE}.${typeName(item)}` : `.${typeName(item)}`,
      }),
})

const STRING: Item = { kind: 'scalar', type: 'string' }

/** protoc's name for the entries of a map. */
const entryName = (name: string) => `${pascal(name)}Entry`

const messageDescriptor = (message: Message): Descriptor => {
  const fields = message.fields.toSorted((a, b) => a.number - b.number)
  const optional = fields.filter((each) => hasPresence(message, each))
  const entries: Descriptor[] = []
  const described = (each: Field): Descriptor => {
    const { name, number, shape } = each
    if (shape.kind === 'list') return field(name, number, shape.item, REPEATED)
    if (shape.kind === 'map') {
      const entry = entryName(name)
      entries.push({
        name: entry,
        field: [field('key', 1, STRING), field('value', 2, shape.value)],
        options: { mapEntry: true },
      })
      const typed = field(name, number, { kind: 'struct' }, REPEATED)
      return { ...typed, typeName: `.${PACKAGE}.${message.name}.${entry}` }
    }
    const oneof = optional.indexOf(each)
    return {
      ...field(name, number, shape),
      ...(oneof === -1 ? {} : { oneofIndex: oneof, proto3Optional: true }),
    }
  }
  return {
    name: message.name,
    field: fields.map(described),
    nestedType: entries,
    // Each optional scalar is the only member of a synthetic oneof.
    oneofDecl: optional.map(({ name }) => ({ name: `_${name}` })),
  }
}

const fileDescriptor = (file: ProtoFile): Descriptor => ({
  name: file.name,
  package: PACKAGE,
  dependency: file.imports,
  messageType: file.messages.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(messageDescriptor),
  service: file.services.map(({ name, methods }) => ({
    name,
    method: methods.map(({ name: method, operation, request, response }) => ({
      name: method,
      ...(operation.deprecated === undefined ? {} : { options: { deprecated: true } }),
      inputType: `.${PACKAGE}.${request.name}`,
      outputType: `.${PACKAGE}.${response.name}`,
    })),
  })),
  options: {
    goPackage: `${PACKAGE.replaceAll('.', '/')};${PACKAGE.replaceAll('.', '')}`,
    javaMultipleFiles: true,
  },
  syntax: 'proto3',
})

const encoder = () => {
  const json: protobuf.INamespace = createRequire(import.meta.url)(
    'protobufjs/google/protobuf/descriptor.json',
  )
  const type = protobuf.Root.fromJSON(json).lookupType('google.protobuf.FileDescriptorProto')
  return (descriptor: Descriptor): Buffer => Buffer.from(type.encode(type.fromObject(descriptor)).finish())
}

/**
 * Each file as an encoded `FileDescriptorProto`, with the well-known ones that clients need: the content of server
 * reflection.
 */
export const fileDescriptors = (files: readonly ProtoFile[]): readonly Buffer[] => {
  const encode = encoder()
  return [structFile, healthFile, ...files.map(fileDescriptor)].map(encode)
}
