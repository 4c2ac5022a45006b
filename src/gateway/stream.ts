/**
 * One ext_proc stream: reads Envoy's messages, lets an exchange decide, writes its answers. Knows gRPC and Envoy's
 * message forms, nothing of proxies.
 *
 * A stream that ends with status OK before its last answer would let Envoy send the request on as it is. So this side
 * never ends a stream: Envoy does, or it is broken off with an error status, which fails the request.
 */
import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import type { Log } from '../common/log.ts'
import { type ExchangeMetadata, METADATA } from '../control-plane/agreement.ts'
import type { Answer, Exchange } from './exchange.ts'
import type { Edits, Head } from './headers.ts'
import type {
  CommonResponse,
  HeaderMutation,
  HttpHeaders,
  ProcessingRequest,
  ProcessingResponse,
  Struct,
  StructValue,
} from './messages.ts'

export type ProcessStream = ServerDuplexStream<ProcessingRequest, ProcessingResponse>

const struct = (metadata: ExchangeMetadata): Struct => {
  const fields: Record<string, StructValue> = {}
  for (const [key, value] of Object.entries(metadata))
    fields[key] = typeof value === 'boolean' ? { boolValue: value } : { stringValue: value }
  return { fields: { [METADATA]: { structValue: { fields } } } }
}

const mutation = (set: Iterable<readonly [string, string]>, remove: readonly string[]): HeaderMutation => ({
  set_headers: [...set].map(([key, value]) => ({
    header: { key, raw_value: Buffer.from(value, 'latin1') },
    append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
  })),
  remove_headers: remove,
})

const common = (edits: Edits): CommonResponse => ({ header_mutation: mutation(edits.set, edits.remove) })

/** The message for one answer, in the phase that Envoy waits in. */
export const encodeAnswer = (
  answer: Answer,
  phase: 'request_headers' | 'request_body',
): ProcessingResponse => {
  const { brand } = answer
  if (answer.kind === 'reply') {
    const { status: code, headers, body } = answer.reply
    return {
      immediate_response: {
        status: { code },
        headers: mutation(headers, []),
        body,
        details: 'gateway',
      },
      dynamic_metadata: struct({ active: true, brand, reply: true }),
    }
  }
  if (answer.kind === 'hold')
    return {
      request_headers: { response: { ...common(answer.edits), clear_route_cache: true } },
      dynamic_metadata: struct({ active: true, brand }),
    }
  const response: CommonResponse = {
    ...common(answer.edits),
    clear_route_cache: true,
    ...(answer.body === undefined ? {} : { body_mutation: { body: answer.body } }),
  }
  return {
    [phase]: { response },
    dynamic_metadata: struct({ active: true, brand, upstream: answer.upstream }),
  }
}

/** Header lines by lower-case name; bytes are kept one to one as latin1. */
export const readHead = ({ headers }: HttpHeaders): Head => {
  const head = new Map<string, string[]>()
  for (const { key, raw_value: raw, value } of headers?.headers ?? []) {
    const text = raw !== undefined && raw.length > 0 ? raw.toString('latin1') : (value ?? '')
    const name = key.toLowerCase()
    const list = head.get(name)
    if (list) list.push(text)
    else head.set(name, [text])
  }
  return head
}

/** One object for all streams: making an error with a stack for each would cost more than the exchange's own work. */
const GONE = new Error('the stream is over')

type Phase = 'headers' | 'body' | 'done'

/** Serves one stream to its end. `start` makes the exchange; its signal ends with the stream. */
export const serveStream = (
  call: ProcessStream,
  start: (signal: AbortSignal) => Exchange,
  log: Log,
): void => {
  const gone = new AbortController()
  let phase: Phase = 'headers'
  let busy = false
  let exchange: Exchange | undefined

  const close = () => {
    phase = 'done'
    exchange = undefined
    gone.abort(GONE)
  }
  const fail = (why: string) => {
    if (gone.signal.aborted) return
    log.warn({ why }, 'ext_proc stream broken off')
    close()
    call.emit('error', { code: status.INTERNAL, details: why })
  }

  const step = async (message: ProcessingRequest): Promise<void> => {
    if (phase === 'headers' && message.request === 'request_headers') {
      const headers = message.request_headers ?? {}
      exchange = start(gone.signal)
      const answer = await exchange.headers(readHead(headers), headers.end_of_stream === true)
      if (gone.signal.aborted) return
      phase = answer.kind === 'hold' ? 'body' : 'done'
      call.write(encodeAnswer(answer, 'request_headers'))
    } else if (phase === 'body' && message.request === 'request_body' && exchange) {
      const answer = await exchange.body(message.request_body?.body ?? Buffer.alloc(0))
      if (gone.signal.aborted) return
      phase = 'done'
      exchange = undefined
      call.write(encodeAnswer(answer, 'request_body'))
    } else fail(`unexpected message in phase "${phase}"`)
  }

  call.on('data', (message: ProcessingRequest) => {
    if (busy) return fail('a message came before the answer to the last one')
    busy = true
    step(message)
      .catch((error: unknown) => {
        log.error({ err: error }, 'exchange failed')
        fail('the exchange failed')
      })
      .finally(() => {
        busy = false
      })
  })
  call.on('end', () => {
    if (phase === 'done' && !busy) {
      close()
      call.end()
    } else fail('the stream ended before its last answer')
  })
  call.on('cancelled', close)
  call.on('error', close)
}
