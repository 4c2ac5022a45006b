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
const DETAILS_BYTES = 4_500

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
  },
})
const status = root.lookupType('Status')

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
    if (bytes.length <= DETAILS_BYTES) return bytes
  }
  return attempt(0)
}

/** Converts an error to a gRPC status: the code of `ERRORS`, the detail as message, the problem as the only detail. */
export const statusOf = (error: AppError, wireOf: (message: Message) => WireType): StatusObject => {
  const code = error.grpc
  const message = error.message.slice(0, MESSAGE_LENGTH).toWellFormed()
  const metadata = new Metadata()
  const details = status.encode({
    code,
    message,
    details: [
      {
        type_url: `type.googleapis.com/${PACKAGE}.${PROBLEM.name}`,
        value: problemMessage(error, wireOf(PROBLEM).encode),
      },
    ],
  })
  metadata.set(DETAILS, Buffer.from(details.finish()))
  return { code, details: message, metadata }
}
