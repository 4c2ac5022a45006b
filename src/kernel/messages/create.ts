import type { Operation } from '../../sdk/index.ts'
import { entityOperations } from '../check/operation.ts'
import { asSchema, type JsonSchema } from '../json-schema.ts'
import {
  EMPTY_MEMBERS,
  type Field,
  IF_MATCH,
  type Item,
  type Message,
  type Messages,
  type Method,
  NULL_MEMBERS,
  OWN_MESSAGES,
  type Service,
  type Shape,
} from './model.ts'
import { shapeOf } from './shape.ts'

/** An issue of messages: two schemas with one name, or a member with a reserved name. */
interface MessageIssue {
  readonly rpc: string
  readonly problem: string
  readonly fix: string
}

/** A `title` like this names the message; any other is for people only. */
const TITLE = /^[A-Z][A-Za-z0-9]{0,63}$/

const pascal = (name: string) =>
  name
    .split('_')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')

/** Users of our own messages, which makes them shared. */
const OURS = ['', '*']

/** A message while operations are walked. */
interface Draft extends Message {
  readonly fields: readonly Field[]
  inRequest: boolean
  readonly services: Set<string>
}

interface Use {
  readonly rpc: string
  readonly service: string
  readonly inRequest: boolean
}

const itemLayout = (item: Item): unknown => {
  if (item.kind === 'scalar') return item.type
  return item.kind === 'message' ? `message ${item.message.name}` : item.kind
}

const shapeLayout = (shape: Shape): unknown => {
  if (shape.kind === 'list') return ['list', itemLayout(shape.item)]
  return shape.kind === 'map' ? ['map', itemLayout(shape.value)] : itemLayout(shape)
}

/** Two messages of one name must agree in this. */
const layout = (fields: readonly Field[]): string =>
  JSON.stringify(
    fields.map(({ name, number, shape, required, nullable }) => [
      name,
      number,
      required,
      nullable,
      shapeLayout(shape),
    ]),
  )

/** True when some member outside lists and maps, at any depth, is such a field. */
const holds = (fields: readonly Field[], wanted: (field: Field) => boolean): boolean =>
  fields.some(
    (field) => wanted(field) || (field.shape.kind === 'message' && holds(field.shape.message.fields, wanted)),
  )

const names = (field: { readonly name: string; readonly number: number }, description: string): Field => ({
  ...field,
  shape: { kind: 'list', item: { kind: 'scalar', type: 'string' } },
  required: false,
  nullable: false,
  description,
})

const IF_MATCH_FIELD: Field = {
  ...IF_MATCH,
  shape: { kind: 'scalar', type: 'string' },
  required: false,
  nullable: false,
  description:
    'If-Match of HTTP: the "etag" in the initial metadata of a read or a change. FAILED_PRECONDITION when the entity has another one now.',
}

const reservedFor = (
  operation: Operation,
  isConditional: boolean,
  fields: readonly Field[],
): readonly Field[] => {
  const [method = ''] = operation.http.split(' ', 1)
  const nullable = method === 'PATCH' && holds(fields, (field) => field.nullable)
  // Members from a query are never present and empty.
  const empty =
    method !== 'GET' &&
    method !== 'DELETE' &&
    holds(fields, ({ shape, required }) => !required && (shape.kind === 'list' || shape.kind === 'map'))
  return [
    ...(nullable ? [names(NULL_MEMBERS, 'Names of members that are set to null.')] : []),
    ...(empty
      ? [
          names(
            EMPTY_MEMBERS,
            'Names of lists and maps that are set, to nothing; others that are empty are unset.',
          ),
        ]
      : []),
    ...(isConditional ? [IF_MATCH_FIELD] : []),
  ]
}

/**
 * The messages and services of operations. Objects become messages, called by the `title` of their schema, else after
 * their operation and place. With issues, the messages must not be used.
 */
export const createMessages = (
  operations: readonly Operation[],
): { readonly messages: Messages; readonly issues: readonly MessageIssue[] } => {
  const issues: MessageIssue[] = []
  const { changing } = entityOperations(operations)
  const drafts = new Map<string, Draft>(
    OWN_MESSAGES.map((message) => [message.name, { ...message, services: new Set(OURS) }]),
  )

  const add = (name: string, fields: readonly Field[], use: Use): Draft => {
    const known = drafts.get(name)
    if (known === undefined) {
      const draft: Draft = { name, fields, inRequest: use.inRequest, services: new Set([use.service]) }
      drafts.set(name, draft)
      return draft
    }
    if (layout(known.fields) !== layout(fields))
      issues.push({
        rpc: use.rpc,
        problem: `its message "${name}" is not the one that another schema of this title describes.`,
        fix: 'Give the schema another title.',
      })
    known.inRequest ||= use.inRequest
    known.services.add(use.service)
    return known
  }

  const fieldsOf = (schema: JsonSchema, name: string, use: Use): readonly Field[] =>
    Object.entries(schema.properties ?? {}).map(([member, property]) => {
      const child = asSchema(property)
      const { shape, nullable } = shapeOf(child, name + pascal(member), (inner, untitled) => {
        const called = titleOf(inner) ?? untitled
        return add(called, fieldsOf(inner, called, use), use)
      })
      return {
        name: member,
        number: Number(child.field),
        shape,
        required: schema.required?.includes(member) ?? false,
        nullable,
        description: [child.description, ...limitsOf(child)].filter(Boolean).join(' ') || undefined,
      }
    })

  const requestOf = (operation: Operation, untitled: string, use: Use): Draft => {
    const schema = asSchema(operation.input)
    const fields = fieldsOf(schema, untitled, use)
    for (const reserved of [NULL_MEMBERS, EMPTY_MEMBERS, IF_MATCH])
      if (fields.some(({ name, number }) => name === reserved.name || number === reserved.number))
        issues.push({
          rpc: use.rpc,
          problem: `its input has a member "${reserved.name}" or a field ${reserved.number}, which every request may have.`,
          fix: 'Choose another name and number.',
        })
    return add(untitled, [...fields, ...reservedFor(operation, changing.has(operation), fields)], use)
  }

  const services = new Map<string, Method[]>()
  for (const operation of operations) {
    const [service = '', name = ''] = operation.rpc.split('.')
    const use = { rpc: operation.rpc, service }
    const output = asSchema(operation.output)
    const called = titleOf(output) ?? `${service}${name}Response`
    const responding = { ...use, inRequest: false }
    const method: Method = {
      name,
      operation,
      request: requestOf(operation, `${service}${name}Request`, { ...use, inRequest: true }),
      response: add(called, fieldsOf(output, called, responding), responding),
    }
    services.set(service, [...(services.get(service) ?? []), method])
  }
  return {
    messages: {
      services: [...services].map(([name, methods]): Service => ({ name, methods })),
      messages: [...drafts.values()],
    },
    issues,
  }
}

const range = (minimum: number | undefined, maximum: number | undefined, what: string): readonly string[] => {
  if (maximum === undefined) return minimum === undefined ? [] : [`At least ${minimum} ${what}.`]
  return [minimum === undefined ? `At most ${maximum} ${what}.` : `${minimum} to ${maximum} ${what}.`]
}

/** Counts that a schema bounds, for the comment of a field: protobuf has no other place for them. */
const limitsOf = (schema: JsonSchema): readonly string[] => [
  ...range(schema.minLength, schema.maxLength, 'characters'),
  ...range(schema.minItems, schema.maxItems, 'items'),
  ...range(schema.minProperties, schema.maxProperties, 'entries'),
]

const titleOf = ({ title }: JsonSchema): string | undefined =>
  title !== undefined && TITLE.test(title) ? title : undefined
