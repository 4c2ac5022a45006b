import { Metadata, type StatusObject } from '@grpc/grpc-js'
import protobuf from 'protobufjs'
import type { AppError } from '../../common/errors.ts'
import { type Message, PROBLEM } from '../../kernel/messages/model.ts'
import { PACKAGE } from '../proto/files.ts'
import { toWire } from './codec.ts'
import type { WireType } from './wire.ts'

/** Where clients of every language look for a `google.rpc.Status` (https://google.aip.dev/193). */
const DETAILS = 'grpc-status-details-bin'

/** Bytes of details. Clients accept 8 KiB of metadata by default, which base64 and the message have to share. */
const DETAILS_BYTES = 4_700

/** Bytes of the problem, which leave room for `ErrorInfo` and `RetryInfo`. */
const PROBLEM_BYTES = 4_500

const DOMAIN = 'sidevault'

/** Maximum bytes of a custom response's JSON. */
const BODY_BYTES = 2_000

/** Characters of the message itself. */
const MESSAGE_LENGTH = 500

const root = protobuf.Root.fromJSON({
  nested: {
    Any: { fields: { type_url: { type: 'string', id: 1 }, value: { type: 'bytes', id: 2 } } },
    Status: {
      fields: {
        code: { type: 'int32', id: 1 },
        message: { type: 'string', id: 2 },
        details: { rule: 'repeated', type: 'Any', id: 3 },
      },
    },
    ErrorInfo: { fields: { reason: { type: 'string', id: 1 }, domain: { type: 'string', id: 2 } } },
    Duration: { fields: { seconds: { type: 'int64', id: 1 } } },
    RetryInfo: { fields: { retryDelay: { type: 'Duration', id: 1 } } },
    FieldViolation: { fields: { field: { type: 'string', id: 1 }, description: { type: 'string', id: 2 } } },
    BadRequest: { fields: { fieldViolations: { rule: 'repeated', type: 'FieldViolation', id: 1 } } },
  },
})
const status = root.lookupType('Status')

interface Any {
  readonly type_url: string
  readonly value: Uint8Array
}

const any = (type: string, value: Uint8Array): Any => ({ type_url: `type.googleapis.com/${type}`, value })

/** A message of google/rpc/error_details.proto. */
const standard = (name: string, members: object): Any =>
  any(`google.rpc.${name}`, root.lookupType(name).encode(members).finish())

/** The custom response of code in place of a problem, when it fits. */
const bodyOf = ({ response }: AppError) =>
  response?.body === undefined || Buffer.byteLength(JSON.stringify(response.body)) > BODY_BYTES
    ? {}
    : { body: response.body }

/** Encodes a problem as the message `Problem`, with as many of its errors as fit. */
const problemMessage = (error: AppError, encode: WireType['encode']): Buffer => {
  const { errors = {}, ...problem } = error.toProblem()
  const all = Object.entries(errors)
  const attempt = (count: number) =>
    encode(
      toWire(PROBLEM, {
        ...problem,
        ...(count === 0
          ? {}
          : {
              errors: Object.fromEntries(
                all.slice(0, count).map(([path, sentences]) => [path, { sentences: [...sentences] }]),
              ),
            }),
        ...(error.retryAfter === undefined ? {} : { retry_after: Math.ceil(error.retryAfter) }),
        ...bodyOf(error),
        ...(count === all.length ? {} : { left_out: all.length - count }),
      }),
    )
  for (let count = all.length; count > 0; count = Math.floor(count * 0.8)) {
    const bytes = attempt(count)
    if (bytes.length <= PROBLEM_BYTES) return bytes
  }
  return attempt(0)
}

/** The details that clients of any service know, in so far as they fit: `BadRequest` may have fewer than all errors. */
const standardDetails = (error: AppError, bytes: number): readonly Any[] => {
  const { code, retryAfter, errors = {} } = error
  const details = [standard('ErrorInfo', { reason: code, domain: DOMAIN })]
  if (retryAfter !== undefined)
    details.push(standard('RetryInfo', { retryDelay: { seconds: Math.ceil(retryAfter) } }))
  const violations = Object.entries(errors).flatMap(([field, sentences]) =>
    sentences.map((description) => ({ field, description })),
  )
  for (let count = violations.length; count > 0; count = Math.floor(count * 0.8)) {
    const all = [...details, standard('BadRequest', { fieldViolations: violations.slice(0, count) })]
    if (status.encode({ details: all }).finish().length <= bytes) return all
  }
  return details
}

/**
 * Converts an error to a gRPC status: the code of `ERRORS`, the detail as message. Its details are the problem, and the
 * messages of google.rpc for it.
 */
export const statusOf = (error: AppError, wireOf: (message: Message) => WireType): StatusObject => {
  const code = error.grpc
  const message = error.message.slice(0, MESSAGE_LENGTH).toWellFormed()
  const metadata = new Metadata()
  const problem = any(`${PACKAGE}.${PROBLEM.name}`, problemMessage(error, wireOf(PROBLEM).encode))
  const details = [problem, ...standardDetails(error, DETAILS_BYTES - problem.value.length)]
  metadata.set(DETAILS, Buffer.from(status.encode({ code, message, details }).finish()))
  return { code, details: message, metadata }
}
