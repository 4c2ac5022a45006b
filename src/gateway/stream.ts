/**
 * One ext_proc stream: reads Envoy's messages, lets an exchange decide, writes its answers. Knows Envoy's message forms,
 * nothing of proxies.
 *
 * A stream that ends with status OK before its last answer would let Envoy send the request on as it is. So this side
 * never ends a stream first: Envoy does, or it is broken off, which fails the request.
 */
import type { Log } from '../common/log.ts'
import type { Exchange } from './exchange.ts'
import { decodeRequest, encodeAnswer, type ProcessingRequest } from './messages.ts'
import type { Call, CallHandler } from './transport/call.ts'

/** Serves one call to its end; `start` makes the exchange when headers come. */
export const serveStream = (call: Call, start: () => Exchange, log: Log): CallHandler => {
  let phase: 'headers' | 'body' | 'done' = 'headers'
  let busy = false
  let over = false
  let exchange: Exchange | undefined

  const close = () => {
    over = true
    exchange?.abandon()
    exchange = undefined
  }
  const fail = (why: string) => {
    if (over) return
    log.warn({ why }, 'ext_proc stream broken off')
    close()
    call.reset()
  }

  const step = async (message: ProcessingRequest): Promise<void> => {
    if (phase === 'headers' && message.kind === 'request_headers') {
      exchange = start()
      const answer = await exchange.headers(message.head, message.endOfStream)
      if (over) return
      phase = answer.kind === 'hold' ? 'body' : 'done'
      call.send(encodeAnswer(answer, 'request_headers'))
    } else if (phase === 'body' && message.kind === 'request_body' && exchange) {
      const answer = await exchange.body(message.body)
      if (over) return
      phase = 'done'
      call.send(encodeAnswer(answer, 'request_body'))
    } else fail(`unexpected message in phase "${phase}"`)
  }

  const take = async (bytes: Buffer): Promise<void> => {
    try {
      await step(decodeRequest(bytes))
    } catch (error) {
      log.error({ err: error }, 'exchange failed')
      fail('the exchange failed')
    }
    busy = false
  }

  return {
    message(bytes) {
      if (over) return
      if (busy) return fail('a message came before the answer to the last one')
      busy = true
      void take(bytes)
    },
    end() {
      if (over) return
      if (phase !== 'done' || busy) return fail('the stream ended before its last answer')
      close()
      call.end()
    },
    gone: close,
  }
}
