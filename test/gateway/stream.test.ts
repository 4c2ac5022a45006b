import t from 'tap'
import { serveStream } from '../../src/gateway/stream.ts'
import type { Exchange, ExtProcReply } from '../../src/gateway/types.ts'
import { silentLog } from '../kit/egress.ts'
import { decodeResponse, encodeRequest, type ProcessingRequest } from '../kit/ext-proc.ts'

const edits = { set: new Map([[':path', '/x']]), remove: ['a'] }
const HOLD: ExtProcReply = { kind: 'buffered', prefix: 'svc', edits }
const RELEASE: ExtProcReply = {
  kind: 'continue',
  prefix: 'svc',
  edits,
  upstream: 'https',
  body: Buffer.from('b'),
}

const PASS: ExtProcReply = { kind: 'continueResponse' }

const serve = (steps: Partial<Exchange>) => {
  const seen = { written: [] as object[], ended: false, resets: 0, abandoned: false, started: 0 }
  const handler = serveStream(
    {
      send: (message) => {
        seen.written.push(decodeResponse(message))
        return true
      },
      pause: () => {},
      resume: () => {},
      end: () => {
        seen.ended = true
      },
      reset: () => {
        seen.resets++
      },
    },
    () => {
      seen.started++
      return {
        onRequestHeaders: async () => HOLD,
        onRequestBody: async () => RELEASE,
        onStreamedRequest: async () => {},
        onResponseHeaders: async () => PASS,
        onResponseBody: async () => PASS,
        onStreamedResponse: async () => {},
        unseen: () => {},
        bodyRejected: undefined,
        ...steps,
        cancel: () => {
          seen.abandoned = true
        },
      }
    },
    silentLog(),
  )
  return { seen, handler, say: (message: ProcessingRequest) => handler.message(encodeRequest(message)) }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))
const stepsOf = (headers: ExtProcReply, body: ExtProcReply = RELEASE) => ({
  onRequestHeaders: async () => headers,
  onRequestBody: async () => body,
})
const HEADERS: ProcessingRequest = { request_headers: { end_of_stream: false } }
const BODY: ProcessingRequest = { request_body: { body: Buffer.from('x') } }

t.test('headers and body each get one reply', async (t) => {
  const { seen, handler, say } = serve(stepsOf(HOLD))
  say(HEADERS)
  await settle()
  say(BODY)
  await settle()
  t.equal(seen.written.length, 2)
  t.match(seen.written[0], { request_headers: { response: { clear_route_cache: true } } })
  t.match(seen.written[1], { request_body: { response: { body_mutation: { body: Buffer.from('b') } } } })
  handler.end()
  t.ok(seen.ended, 'Envoy ended after the last reply')
  t.equal(seen.resets, 0)
})

for (const [name, messages] of Object.entries<readonly ProcessingRequest[]>({
  'a body first': [BODY],
  'headers twice': [HEADERS, HEADERS],
  'a body after the last reply': [HEADERS, BODY, BODY],
  'response headers': [{ response_headers: {} }],
  'an empty message': [{}],
}))
  t.test(`${name} resets the stream, and never ends it cleanly`, async (t) => {
    const { seen, handler, say } = serve(stepsOf(HOLD))
    for (const message of messages) {
      say(message)
      await settle()
    }
    t.equal(seen.resets, 1)
    handler.end()
    t.notOk(seen.ended)
  })

t.test('a malformed message resets the stream', async (t) => {
  const { seen, handler } = serve(stepsOf(HOLD))
  handler.message(Buffer.from('ffffffffffffffffffff', 'hex'))
  await settle()
  t.match(seen, { resets: 1, ended: false, started: 0, written: [] })
})

t.test('a message before the last reply resets the stream, and the late reply is not sent', async (t) => {
  const { promise, resolve } = Promise.withResolvers<ExtProcReply>()
  const { seen, say } = serve({ onRequestHeaders: () => promise, onRequestBody: async () => RELEASE })
  say(HEADERS)
  say(BODY)
  resolve(HOLD)
  await settle()
  t.match(seen, { resets: 1, written: [], abandoned: true })
})

t.test('a stream that ends while a reply is pending is reset, not ended', async (t) => {
  const { seen, handler, say } = serve(stepsOf(HOLD))
  say(HEADERS)
  await settle()
  handler.end()
  t.match(seen, { resets: 1, ended: false, abandoned: true })
})

t.test('a stream that Envoy closes cancels its exchange', async (t) => {
  const { promise, resolve } = Promise.withResolvers<ExtProcReply>()
  const { seen, handler, say } = serve({
    onRequestHeaders: () => promise,
    onRequestBody: async () => RELEASE,
  })
  say(HEADERS)
  handler.gone()
  t.ok(seen.abandoned)
  resolve(HOLD)
  await settle()
  t.match(seen, { resets: 0, written: [] })
})

t.test('an exchange that rejects resets the stream', async (t) => {
  const { seen, say } = serve({
    onRequestHeaders: () => Promise.reject(new Error('boom')),
    onRequestBody: async () => RELEASE,
  })
  say(HEADERS)
  await settle()
  t.match(seen, { resets: 1, written: [] })
})

const TIMEOUT: ExtProcReply = {
  kind: 'immediateResponse',
  prefix: 'svc',
  reply: { status: 408, headers: new Map(), body: Buffer.from('{}') },
}

t.test('a body rejected while Envoy buffers it gets one immediate reply', async (t) => {
  const { promise, resolve } = Promise.withResolvers<ExtProcReply>()
  const { seen, handler, say } = serve({ bodyRejected: promise })
  say(HEADERS)
  await settle()
  resolve(TIMEOUT)
  await settle()
  t.match(seen.written, [{ request_headers: {} }, { immediate_response: { status: { code: 408 } } }])
  handler.end()
  t.match(seen, { ended: true, resets: 0 })
  say(BODY)
  t.equal(seen.written.length, 2)
})

t.test('a complete body is no longer rejected', async (t) => {
  const { promise, resolve } = Promise.withResolvers<ExtProcReply>()
  const { seen, say } = serve({ bodyRejected: promise })
  say(HEADERS)
  await settle()
  say(BODY)
  resolve(TIMEOUT)
  await settle()
  t.match(seen, { resets: 0, written: { length: 2 } })
  t.match(seen.written[1], { request_body: {} })
})

const WATCHED: ExtProcReply = { ...RELEASE, modeOverride: 'responseBody' }
const COLLECT: ExtProcReply = { kind: 'bufferedResponse', destinationStatus: '200' }
const REPLACE: ExtProcReply = { kind: 'replaceResponse', edits, body: Buffer.from('new') }
const RESPONSE: ProcessingRequest = { response_headers: { end_of_stream: false } }
const RESPONSE_BODY: ProcessingRequest = { response_body: { body: Buffer.from('old') } }

/** A stream whose destination's response is waited for, these messages after one another. */
const watching = async (steps: Partial<Exchange>, messages: readonly ProcessingRequest[]) => {
  const served = serve({
    onRequestBody: async () => WATCHED,
    onResponseHeaders: async () => COLLECT,
    ...steps,
  })
  for (const message of messages) {
    served.say(message)
    await settle()
  }
  return served
}

t.test('a requested response gets replies in its own phases', async (t) => {
  const { seen, handler } = await watching({ onResponseBody: async () => REPLACE }, [
    HEADERS,
    BODY,
    RESPONSE,
    RESPONSE_BODY,
  ])
  t.equal(seen.written.length, 4)
  t.match(seen.written[2], { response_headers: {}, mode_override: { response_body_mode: 'BUFFERED' } })
  t.match(seen.written[3], { response_body: { response: { body_mutation: { body: Buffer.from('new') } } } })
  handler.end()
  t.match(seen, { ended: true, resets: 0, abandoned: true })
})

t.test('a response that passes gets no further reply', async (t) => {
  const { seen, handler } = await watching({ onResponseHeaders: async () => PASS }, [HEADERS, BODY, RESPONSE])
  t.equal(seen.written.length, 3)
  handler.end()
  t.match(seen, { ended: true, resets: 0 })
})

for (const [name, messages] of Object.entries<readonly ProcessingRequest[]>({
  'its body first': [HEADERS, BODY, RESPONSE_BODY],
  'its headers twice': [HEADERS, BODY, RESPONSE, RESPONSE],
  'a request body instead': [HEADERS, BODY, BODY],
  'another body after it': [HEADERS, BODY, RESPONSE, RESPONSE_BODY, RESPONSE_BODY],
}))
  t.test(`a requested response with ${name} resets the stream`, async (t) => {
    const { seen } = await watching({}, messages)
    t.match(seen, { resets: 1, ended: false, abandoned: true })
  })

t.test('a stream that ends while a response is pending is reset, never ended', async (t) => {
  for (const messages of [
    [HEADERS, BODY],
    [HEADERS, BODY, RESPONSE],
  ]) {
    const { seen, handler } = await watching({}, messages)
    handler.end()
    t.match(seen, { resets: 1, ended: false })
  }
  const rejecting = await watching({ onResponseBody: () => Promise.reject(new Error('boom')) }, [
    HEADERS,
    BODY,
    RESPONSE,
    RESPONSE_BODY,
  ])
  t.match(rejecting.seen, { resets: 1, ended: false })
})

const RESPONSE_TRAILERS: ProcessingRequest = { response_trailers: {} }

t.test('trailers of a response pass in all phases that may come before them', async (t) => {
  for (const [messages, steps] of [
    [[HEADERS], stepsOf(RELEASE)],
    [[HEADERS, BODY], stepsOf(HOLD)],
    [[HEADERS, BODY, RESPONSE], { onResponseHeaders: async () => PASS }],
    [[HEADERS, BODY, RESPONSE], {}],
    [[HEADERS, BODY, RESPONSE, RESPONSE_BODY], {}],
    [[STREAMED, PIECE], {}],
  ] as const) {
    const { seen, say, handler } = await watching(steps, messages)
    t.notOk(seen.abandoned)
    say(RESPONSE_TRAILERS)
    t.match(seen, { resets: 0, abandoned: false })
    t.same(Object.keys(seen.written.at(-1) ?? {}).sort(), ['response', 'response_trailers'])
    if (messages[0] === STREAMED) continue
    handler.end()
    t.match(seen, { ended: true, resets: 0, abandoned: true })
  }
})

t.test('trailers of a response before its request is released reset the stream', async (t) => {
  for (const messages of [[], [HEADERS], [HEADERS, BODY]]) {
    const { seen, say } = await watching({}, messages)
    say(RESPONSE_TRAILERS)
    t.match(seen, { resets: 1, ended: false, written: { length: messages.length } })
  }
})

const STREAMED: ProcessingRequest = {
  request_headers: { end_of_stream: false },
  protocol_config: { request_body_mode: 'FULL_DUPLEX_STREAMED' },
}
const PIECE: ProcessingRequest = { request_body: { body: Buffer.from('x') } }
const LAST: ProcessingRequest = { request_body: { body: Buffer.from('y'), end_of_stream: true } }
const TRAILERS: ProcessingRequest = { request_trailers: {} }

t.test('a message after the end of a streamed body resets the stream', async (t) => {
  const applied: string[] = []
  const onStreamedRequest: Exchange['onStreamedRequest'] = async (_head, _isWhole, flow) => {
    for (;;) {
      const portion = await flow.read()
      if (portion === undefined) continue
      applied.push(portion.bytes.toString())
      if (portion.isLast) return new Promise(() => {})
    }
  }
  const resets = async (...messages: readonly ProcessingRequest[]) => {
    const { seen, say } = serve({ onStreamedRequest })
    for (const message of messages) {
      say(message)
      await settle()
    }
    t.equal(seen.abandoned, seen.resets === 1)
    return seen.resets
  }
  t.equal(await resets(STREAMED, PIECE, LAST), 0)
  t.equal(await resets(STREAMED, PIECE, TRAILERS), 0)
  applied.length = 0
  for (const end of [LAST, TRAILERS])
    for (const more of [PIECE, LAST, TRAILERS]) t.equal(await resets(STREAMED, PIECE, end, more), 1)
  t.equal(applied.join(''), 'xyxyxyxxx')
  const whole = { ...STREAMED, request_headers: { end_of_stream: true } }
  t.equal(await resets(whole, PIECE), 1)
})

t.test(
  'a streamed request with trailers and no body gets replies to headers and trailers only',
  async (t) => {
    const onStreamedRequest: Exchange['onStreamedRequest'] = async (_head, _isWhole, flow) => {
      const portion = await flow.read()
      if (portion === undefined) throw new Error('nothing was read')
      await flow.write(RELEASE)
      await flow.end(portion.bytes)
    }
    const repliesTo = async (...messages: readonly ProcessingRequest[]) => {
      const { seen, say } = serve({ onStreamedRequest })
      for (const message of messages) say(message)
      await settle()
      return seen.written.map((reply) => Object.keys(reply)[0])
    }
    t.same(await repliesTo(STREAMED, TRAILERS), ['request_headers', 'request_trailers'])
    t.same(await repliesTo(STREAMED, PIECE, TRAILERS), [
      'request_headers',
      'request_body',
      'request_trailers',
    ])
    t.same(await repliesTo(STREAMED, LAST), ['request_headers', 'request_body'])
  },
)
