import type { Operation } from '../../sdk/index.ts'

/** Types of proto3 that JSON's scalars become (https://protobuf.dev/programming-guides/json/). */
export type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'double'

/** The value of a list or a map. */
export type Item =
  | { readonly kind: 'scalar'; readonly type: Scalar }
  | { readonly kind: 'message'; readonly message: Message }
  /** Any JSON: `google.protobuf.Value`. */
  | { readonly kind: 'value' }
  /** Any JSON object: `google.protobuf.Struct`. */
  | { readonly kind: 'struct' }

export type Shape =
  | Item
  | { readonly kind: 'list'; readonly item: Item }
  | { readonly kind: 'map'; readonly value: Item }

export interface Field {
  readonly name: string
  readonly number: number
  readonly shape: Shape
  readonly required: boolean
  /** Null is allowed. */
  readonly nullable: boolean
  readonly description: string | undefined
}

export interface Message {
  readonly name: string
  readonly fields: readonly Field[]
  /**
   * Part of a request: its scalars tell unset from empty, so that a member that was left out is not one that was
   * sent as nothing.
   */
  readonly inRequest: boolean
  /** Names of the services whose methods use it, at any depth. */
  readonly services: ReadonlySet<string>
}

export interface Method {
  readonly name: string
  readonly operation: Operation
  readonly request: Message
  readonly response: Message
}

export interface Service {
  readonly name: string
  readonly methods: readonly Method[]
}

/** All operations as protobuf sees them; in the order of the registry. */
export interface Messages {
  readonly services: readonly Service[]
  readonly messages: readonly Message[]
}

/**
 * proto3 cannot say that a list or map was sent without anything in it, nor that a member was sent as null. Requests in
 * which that makes a difference have these fields, which hold names of members (`a`, or `a.b` inside another).
 */
export const NULL_MEMBERS = { name: 'null_members', number: 1000 } as const
export const EMPTY_MEMBERS = { name: 'empty_members', number: 1001 } as const

/** `If-Match` of a change, which gRPC has no header for (completions §1). */
export const IF_MATCH = { name: 'if_match', number: 1002 } as const

/** proto3's `optional`: unset differs from the type's zero. */
export const hasPresence = (message: Message, field: Field): boolean =>
  field.shape.kind === 'scalar' && (message.inRequest || !field.required || field.nullable)

const text = (name: string, number: number, description?: string): Field => ({
  name,
  number,
  shape: { kind: 'scalar', type: 'string' },
  required: true,
  nullable: false,
  description,
})

const own = (name: string, fields: readonly Field[]): Message => ({
  name,
  fields,
  inRequest: false,
  services: new Set(),
})

const SENTENCES = own('Sentences', [
  {
    name: 'sentences',
    number: 1,
    shape: { kind: 'list', item: { kind: 'scalar', type: 'string' } },
    required: true,
    nullable: false,
    description: undefined,
  },
])

/** The error body of completions §2 as a message: the one detail in the status of a failed call. */
export const PROBLEM = own('Problem', [
  text('title', 1),
  {
    name: 'status',
    number: 2,
    shape: { kind: 'scalar', type: 'int32' },
    required: true,
    nullable: false,
    description: 'The status that HTTP has for it.',
  },
  text('detail', 3, 'What was asked, what is wrong and what to do.'),
  { ...text('instance', 4), required: false },
  {
    name: 'errors',
    number: 5,
    shape: { kind: 'map', value: { kind: 'message', message: SENTENCES } },
    required: false,
    nullable: false,
    description: 'Sentences by property path, e.g. data.number.',
  },
  {
    name: 'retry_after',
    number: 6,
    shape: { kind: 'scalar', type: 'int32' },
    required: false,
    nullable: false,
    description: 'Seconds to wait before the call is tried again.',
  },
  {
    name: 'left_out',
    number: 7,
    shape: { kind: 'scalar', type: 'int32' },
    required: false,
    nullable: false,
    description: 'Members of errors that metadata had no room for.',
  },
  {
    name: 'body',
    number: 8,
    shape: { kind: 'value' },
    required: false,
    nullable: false,
    description:
      'The custom response of a reactor over HTTP in place of a problem; absent when it is too long.',
  },
  text('type', 9, 'Where the service documents the code: /docs/errors#code.'),
  text('code', 10, 'Stable name of the error, for programs. /docs/errors lists all.'),
])

/** Messages that every service has. */
export const OWN_MESSAGES: readonly Message[] = [PROBLEM, SENTENCES]
