import type { Field, Item, Message, Messages, Service } from '../../kernel/messages/model.ts'

export const PACKAGE = 'sidevault.v1'

const STRUCT = 'google/protobuf/struct.proto'

/** A .proto file: a service with the messages that only its methods use, or shared messages. */
export interface ProtoFile {
  /** e.g. `sidevault/v1/tokens.proto`. */
  readonly name: string
  readonly imports: readonly string[]
  readonly services: readonly Service[]
  readonly messages: readonly Message[]
}

const snake = (name: string) => name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase()

const pathOf = (name: string) => `${PACKAGE.replaceAll('.', '/')}/${name}.proto`

const COMMON = pathOf('common')

const homeOf = ({ services }: Message): string => {
  const [first] = services
  return services.size === 1 && first !== undefined ? pathOf(snake(first)) : COMMON
}

const itemOf = ({ shape }: Field): Item => {
  if (shape.kind === 'list') return shape.item
  return shape.kind === 'map' ? shape.value : shape
}

/** The messages and free JSON that fields refer to. */
const importsOf = (file: string, services: readonly Service[], messages: readonly Message[]) => {
  const imports = new Set<string>()
  const need = (item: Item) => {
    if (item.kind === 'value' || item.kind === 'struct') imports.add(STRUCT)
    if (item.kind === 'message') imports.add(homeOf(item.message))
  }
  for (const { fields } of messages) for (const field of fields) need(itemOf(field))
  for (const { methods } of services)
    for (const { request, response } of methods)
      for (const each of [request, response]) imports.add(homeOf(each))
  imports.delete(file)
  return [...imports].sort()
}

/** All files, by name. Messages used by one service stand in its file, others in `common.proto`. */
export const protoFiles = ({ services, messages }: Messages): readonly ProtoFile[] => {
  const names = new Set([...services.map((service) => pathOf(snake(service.name))), ...messages.map(homeOf)])
  return [...names].sort().map((name) => {
    const own = {
      services: services.filter((service) => pathOf(snake(service.name)) === name),
      messages: messages.filter((message) => homeOf(message) === name),
    }
    return { name, imports: importsOf(name, own.services, own.messages), ...own }
  })
}

/** The type of one value, as .proto files and descriptors name it. */
export const typeName = (item: Item): string => {
  switch (item.kind) {
    case 'scalar':
      return item.type
    case 'message':
      return item.message.name
    case 'value':
      return 'google.protobuf.Value'
    case 'struct':
      return 'google.protobuf.Struct'
  }
}
