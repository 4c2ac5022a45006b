import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import protobuf from 'protobufjs'
import { inputFrom, NotExpressible, toWire } from '../../src/admin/grpc/codec.ts'
import { methodPath } from '../../src/admin/grpc/methods.ts'
import { createWire } from '../../src/admin/grpc/wire.ts'
import type { Problem } from '../../src/common/errors.ts'
import { isObject } from '../../src/common/json.ts'
import { createMessages } from '../../src/kernel/messages/create.ts'
import {
  EMPTY_MEMBERS,
  type Message,
  type Method,
  NULL_MEMBERS,
  PROBLEM,
} from '../../src/kernel/messages/model.ts'
import type { Operation } from '../../src/sdk/index.ts'

/** Result of a call. `problem`: the detail of a failed call, when it carries one of Sidevault. */
interface GrpcResponse {
  readonly code: number
  readonly message: string
  readonly output: Record<string, unknown> | undefined
  readonly problem: (Problem & { readonly retry_after?: number; readonly left_out?: number }) | undefined
  /** The further details of a failed one, by the names of google.rpc. */
  readonly details: Readonly<Record<string, unknown>>
  /** Initial and trailing metadata together; binary values left out. */
  readonly metadata: Readonly<Record<string, string>>
}

interface GrpcCallOptions {
  readonly metadata?: Readonly<Record<string, string>>
  /** ms from now. */
  readonly deadline?: number
  readonly signal?: AbortSignal
  /** Sent in place of the message. */
  readonly bytes?: Buffer
}

/** Of google/rpc/status.proto and error_details.proto. */
const statusRoot = protobuf.Root.fromJSON({
  nested: {
    Any: { fields: { type_url: { type: 'string', id: 1 }, value: { type: 'bytes', id: 2 } } },
    Status: { fields: { details: { rule: 'repeated', type: 'Any', id: 3 } } },
    ErrorInfo: { fields: { reason: { type: 'string', id: 1 }, domain: { type: 'string', id: 2 } } },
    Duration: { fields: { seconds: { type: 'int64', id: 1 }, nanos: { type: 'int32', id: 2 } } },
    RetryInfo: { fields: { retryDelay: { type: 'Duration', id: 1 } } },
    FieldViolation: { fields: { field: { type: 'string', id: 1 }, description: { type: 'string', id: 2 } } },
    BadRequest: { fields: { fieldViolations: { rule: 'repeated', type: 'FieldViolation', id: 1 } } },
  },
})

interface Any {
  readonly type_url: string
  readonly value: Buffer
}

const STANDARD = 'type.googleapis.com/google.rpc.'

/** Names of members that are null, and of lists and maps that are empty, as a request has to say it. */
const explicit = (message: Message, input: Record<string, unknown>, path: readonly string[] = []) => {
  const nulls: string[] = []
  const empties: string[] = []
  for (const { name, shape, nullable, required } of message.fields) {
    if (!Object.hasOwn(input, name)) continue
    const value = input[name]
    const at = [...path, name]
    if (value === null && nullable) nulls.push(at.join('.'))
    if (shape.kind === 'list' && !required && Array.isArray(value) && value.length === 0)
      empties.push(at.join('.'))
    if (shape.kind === 'map' && !required && isObject(value) && Object.keys(value).length === 0)
      empties.push(at.join('.'))
    // The lists of members name no elements of lists.
    if (shape.kind === 'list' && shape.item.kind === 'message' && Array.isArray(value))
      for (const item of value)
        if (isObject(item) && explicit(shape.item.message, item).empties.length > 0)
          throw new NotExpressible(`an empty list in an element of ${at.join('.')}`)
    if (shape.kind === 'message' && isObject(value)) {
      const inner = explicit(shape.message, value, at)
      nulls.push(...inner.nulls)
      empties.push(...inner.empties)
    }
  }
  return { nulls, empties }
}

/** The input as the request message; throws `NotExpressible` when proto3 cannot say it. */
const requestOf = ({ request }: Method, input: Record<string, unknown>) => {
  const { nulls, empties } = explicit(request, input)
  return toWire(request, {
    ...input,
    ...(nulls.length > 0 ? { [NULL_MEMBERS.name]: nulls } : {}),
    ...(empties.length > 0 ? { [EMPTY_MEMBERS.name]: empties } : {}),
  })
}

/** A client of every operation, at `unix:<path>` or `host:port`. */
export const createGrpcClient = (address: string, operations: readonly Operation[]) => {
  const { messages } = createMessages(operations)
  const wireOf = createWire(messages.messages)
  const methods = new Map(
    messages.services.flatMap(({ name, methods }) =>
      methods.map(
        (method) => [method.operation.rpc, { method, path: methodPath(name, method.name) }] as const,
      ),
    ),
  )
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  })

  const anysIn = (bytes: Buffer | undefined): readonly Any[] =>
    bytes === undefined
      ? []
      : (statusRoot.lookupType('Status').decode(bytes) as unknown as { details: Any[] }).details

  const detailsIn = (anys: readonly Any[]): GrpcResponse['details'] =>
    Object.fromEntries(
      anys.map(({ type_url, value }) => {
        const name = type_url.slice(STANDARD.length)
        return [name, statusRoot.lookupType(name).decode(value).toJSON()]
      }),
    )

  const problemIn = (any: Any | undefined): GrpcResponse['problem'] => {
    if (any?.type_url !== 'type.googleapis.com/sidevault.v1.Problem') return undefined
    const { errors, ...problem } = inputFrom(PROBLEM, wireOf(PROBLEM).decode(any.value)) as {
      errors?: Record<string, { sentences: string[] }>
    }
    return {
      ...(problem as unknown as Problem),
      ...(errors === undefined
        ? {}
        : {
            errors: Object.fromEntries(
              Object.entries(errors).map(([path, { sentences }]) => [path, sentences]),
            ),
          }),
    }
  }

  const call = (
    rpc: string,
    input: Record<string, unknown>,
    options: GrpcCallOptions = {},
  ): Promise<GrpcResponse> => {
    const known = methods.get(rpc)
    if (known === undefined) throw new Error(`there is no ${rpc}`)
    const { method, path } = known
    const bytes = options.bytes ?? wireOf(method.request).encode(requestOf(method, input))
    const sent = new Metadata()
    for (const [name, value] of Object.entries(options.metadata ?? {})) sent.set(name, value)
    return new Promise((resolve) => {
      const seen: Record<string, string> = {}
      let details: Buffer | undefined
      const keep = (metadata: Metadata) => {
        for (const [name, value] of Object.entries(metadata.getMap())) {
          if (typeof value === 'string') seen[name] = value
          else if (name === 'grpc-status-details-bin') details = value
        }
      }
      let outcome: { error: ServiceError | null; value: Buffer | undefined } | undefined
      const running = client.makeUnaryRequest(
        path,
        (buffer: Buffer) => buffer,
        (buffer: Buffer) => buffer,
        bytes,
        sent,
        options.deadline === undefined ? {} : { deadline: Date.now() + options.deadline },
        (error, value) => {
          outcome = { error, value }
        },
      )
      options.signal?.addEventListener('abort', () => running.cancel(), { once: true })
      running.on('metadata', keep)
      running.on('status', (status) => {
        keep(status.metadata)
        queueMicrotask(() =>
          resolve({
            code: status.code,
            message: status.details,
            output:
              outcome?.value === undefined
                ? undefined
                : inputFrom(method.response, wireOf(method.response).decode(outcome.value)),
            problem: problemIn(anysIn(details)[0]),
            details: detailsIn(anysIn(details).slice(1)),
            metadata: seen,
          }),
        )
      })
    })
  }
  return { call, methods, messages, client, close: () => client.close() }
}
