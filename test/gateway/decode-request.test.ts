import t from 'tap'
import { WireError } from '../../src/ext-proc/protobuf.ts'
import { decodeRequest } from '../../src/gateway/decode-request.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'
import { encodeRequest, messageFor, responseMessage } from '../kit/ext-proc.ts'

const edits = {
  set: new Map([
    [':path', '/caf\u00e9?q=%20'],
    ['content-length', '7'],
  ]),
  remove: ['svc-api-key', 'te'],
}

const member = (fields: object) => ({
  fields: { 'sidevault.proxy': { structValue: { fields }, kind: 'structValue' } },
})
const text = (stringValue: string) => ({ stringValue, kind: 'stringValue' })
const TRUE = { boolValue: true, kind: 'boolValue' }

const line = (key: string, value: string) => ({
  header: { key, raw_value: Buffer.from(value, 'latin1') },
  append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
})

/** What the reference reads, the order of repeated members aside: each stands for itself here. */
const sorted = (mutation: {
  set_headers?: readonly { header: { key: string } }[]
  remove_headers?: readonly string[]
}) => ({
  set_headers: [...(mutation.set_headers ?? [])].sort((a, b) => (a.header.key < b.header.key ? -1 : 1)),
  remove_headers: [...(mutation.remove_headers ?? [])].sort(),
})

const MUTATION = {
  set_headers: [line(':path', '/caf\u00e9?q=%20'), line('content-length', '7')],
  remove_headers: ['svc-api-key', 'te'],
}

t.test('a `buffered` reply is decoded by the reference decoder, without an upstream', (t) => {
  const message = responseMessage({ kind: 'buffered', prefix: 'svc', edits }, 'request_headers')
  t.same(Object.keys(message).sort(), ['dynamic_metadata', 'request_headers', 'response'])
  const response = message.request_headers?.response
  t.same(sorted(response?.header_mutation ?? {}), MUTATION)
  t.equal(response?.clear_route_cache, true)
  t.equal(response?.body_mutation, undefined)
  t.same(message.dynamic_metadata, member({ active: TRUE, prefix: text('svc') }))
  t.end()
})

t.test('a `continue` reply is decoded by the reference decoder, in its phase', (t) => {
  for (const phase of ['request_headers', 'request_body'] as const)
    for (const upstream of ['https', 'http', 'demo'] as const) {
      const body = Buffer.from([0, 0xff, 0x7b])
      const message = responseMessage({ kind: 'continue', prefix: 'bt', edits, upstream, body }, phase)
      t.same(Object.keys(message).sort(), ['dynamic_metadata', phase, 'response'])
      t.same(sorted(message[phase]?.response.header_mutation ?? {}), MUTATION)
      t.equal(message[phase]?.response.clear_route_cache, true)
      t.same(message[phase]?.response.body_mutation?.body, body)
      t.same(message.dynamic_metadata, member({ active: TRUE, prefix: text('bt'), upstream: text(upstream) }))
    }
  t.end()
})

t.test('an unchanged body is omitted, an empty one is set', (t) => {
  const release = { kind: 'continue', prefix: 'svc', edits, upstream: 'https' } as const
  t.equal(responseMessage(release, 'request_body').request_body?.response.body_mutation, undefined)
  const emptied = responseMessage({ ...release, body: Buffer.alloc(0) }, 'request_body')
  t.same(emptied.request_body?.response.body_mutation?.body, Buffer.alloc(0))
  t.end()
})

t.test('an `immediateResponse` reply is decoded by the reference decoder', (t) => {
  const response: ExtProcReply = {
    kind: 'immediateResponse',
    prefix: 'svc',
    reply: { status: 503, headers: new Map([['retry-after', '1']]), body: Buffer.from('{"proxy_error":{}}') },
  }
  for (const phase of ['request_headers', 'request_body'] as const) {
    const message = responseMessage(response, phase)
    t.same(Object.keys(message).sort(), ['dynamic_metadata', 'immediate_response', 'response'])
    t.same(message.immediate_response, {
      status: { code: 503 },
      headers: { set_headers: [line('retry-after', '1')] },
      body: Buffer.from('{"proxy_error":{}}'),
      details: 'gateway',
    })
    t.same(message.dynamic_metadata, member({ active: TRUE, prefix: text('svc'), reply: TRUE }))
  }
  t.end()
})

t.test('streamed parts of a body and its trailers are decoded by the reference decoder', (t) => {
  const body = Buffer.from([0, 0xff])
  for (const isLast of [false, true]) {
    const piece = responseMessage({ kind: 'streamed', body, isLast }, 'request_body')
    t.same(Object.keys(piece).sort(), ['request_body', 'response'])
    t.match(piece.request_body?.response, {
      body_mutation: { streamed_response: { body, ...(isLast ? { end_of_stream: true } : {}) } },
    })
  }
  for (const side of ['request', 'response'] as const)
    t.same(Object.keys(responseMessage({ kind: 'trailers' }, `${side}_body`)).sort(), [
      ...(side === 'request' ? ['request_trailers', 'response'] : ['response', 'response_trailers']),
    ])
  t.end()
})

t.test("a body is streamed when Envoy's mode says so, and trailers end it", (t) => {
  for (const [mode, streamed] of [
    ['BUFFERED', false],
    ['STREAMED', false],
    ['FULL_DUPLEX_STREAMED', true],
  ] as const)
    t.match(
      decodeRequest(
        encodeRequest({
          request_headers: { end_of_stream: false },
          protocol_config: { request_body_mode: mode },
        }),
      ),
      {
        streamed,
      },
    )
  for (const end_of_stream of [false, true])
    t.match(decodeRequest(encodeRequest({ request_body: { body: Buffer.from('x'), end_of_stream } })), {
      endOfStream: end_of_stream,
    })
  t.same(decodeRequest(encodeRequest({ request_trailers: {} })), { kind: 'request_trailers' })
  const trailers = { headers: [{ key: 'Digest', raw_value: Buffer.from('x') }] }
  t.same(decodeRequest(encodeRequest({ response_trailers: { trailers } })), {
    kind: 'response_trailers',
    head: new Map([['digest', ['x']]]),
  })
  t.end()
})

t.test('a body of 8 MiB is encoded and decoded unchanged', (t) => {
  const body = Buffer.alloc(8 * 1024 * 1024, 'abc')
  const release = { kind: 'continue', prefix: 'svc', edits, upstream: 'https', body } as const
  t.ok(responseMessage(release, 'request_body').request_body?.response.body_mutation?.body?.equals(body))
  const decoded = decodeRequest(encodeRequest({ request_body: { body, end_of_stream: true } }))
  t.ok(decoded.kind === 'request_body' && decoded.body.equals(body))
  t.end()
})

t.test('headers are decoded: bytes one to one, names in lower case, lines of one name in order', (t) => {
  const decoded = decodeRequest(
    encodeRequest({
      request_headers: {
        headers: {
          headers: [
            { key: 'X-A', raw_value: Buffer.from([0xe9, 0x41]) },
            { key: 'x-a', raw_value: Buffer.from('2') },
            { key: 'x-b', value: 'text' },
            { key: 'x-empty' },
          ],
        },
        end_of_stream: true,
      },
    }),
  )
  t.same(decoded, {
    kind: 'request_headers',
    head: new Map([
      ['x-a', ['\u00e9A', '2']],
      ['x-b', ['text']],
      ['x-empty', ['']],
    ]),
    endOfStream: true,
    streamed: false,
  })
  t.same(decodeRequest(encodeRequest({ request_headers: {} })), {
    kind: 'request_headers',
    head: new Map(),
    endOfStream: false,
    streamed: false,
  })
  t.end()
})

t.test('unknown fields are skipped, at every level', (t) => {
  const decode = (hex: string) => decodeRequest(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
  t.same(decode('5a00 1212 0a0c 1800 0a08 0a0161 1a0162 2000 1002 1801 4200'), {
    kind: 'request_headers',
    head: new Map([['a', ['b']]]),
    endOfStream: true,
    streamed: false,
  })
  t.same(decode('22 07 0a0178 1001 5001'), {
    kind: 'request_body',
    body: Buffer.from('x'),
    endOfStream: true,
  })
  t.end()
})

t.test('attributes name the listener and the identity of a request', (t) => {
  const attributes = {
    'envoy.filters.http.ext_proc': {
      fields: {
        'xds.filter_chain_name': text('forward_http'),
        "filter_state['sidevault.in.tunnel']": text('api.test 443 - key'),
        'connection.mtls': TRUE,
      },
    },
  }
  const read = (mode: string) => {
    const message = { attributes, request_headers: {}, protocol_config: { request_body_mode: mode } }
    const request = decodeRequest(encodeRequest(message))
    return request.kind === 'request_headers' ? request : undefined
  }
  t.same([...(read('BUFFERED')?.origin?.attributes ?? [])].sort(), [
    ["filter_state['sidevault.in.tunnel']", 'api.test 443 - key'],
    ['xds.filter_chain_name', 'forward_http'],
  ])
  t.equal(read('BUFFERED')?.origin?.isBodyUnread, false)
  t.equal(read('NONE')?.origin?.isBodyUnread, true)
  t.equal(read('FULL_DUPLEX_STREAMED')?.streamed, true)
  t.equal(decodeRequest(encodeRequest({ request_headers: {} })).kind, 'request_headers')
  t.end()
})

t.test('empty messages are decoded as other', (t) => {
  t.same(decodeRequest(Buffer.alloc(0)), { kind: 'other' })
  t.end()
})

t.test('two phases in one message, and a truncated message, are rejected', (t) => {
  const headers = encodeRequest({ request_headers: { headers: { headers: [{ key: 'a', value: 'b' }] } } })
  const body = encodeRequest({ request_body: { body: Buffer.from('x') } })
  t.throws(() => decodeRequest(Buffer.concat([headers, body])), WireError)
  t.throws(() => decodeRequest(Buffer.concat([body, body])), WireError)
  for (let length = 1; length < headers.length; length++)
    t.throws(() => decodeRequest(headers.subarray(0, length)), WireError, `${length} bytes`)
  t.end()
})

t.test('an encoded reply does not share its buffer with the next one', (t) => {
  const hold: ExtProcReply = { kind: 'buffered', prefix: 'svc', edits }
  const first = messageFor(hold, 'request_headers')
  const copy = Buffer.from(first)
  messageFor({ ...hold, edits: { set: new Map([['x', 'y'.repeat(2000)]]), remove: [] } }, 'request_headers')
  t.same(first, copy)
  t.end()
})

const WATCH = {
  response_header_mode: 'SEND',
  request_body_mode: 'BUFFERED',
  request_trailer_mode: 'SKIP',
  response_trailer_mode: 'SEND',
}

t.test("only a reply to request headers requests the destination's response", (t) => {
  const hold: ExtProcReply = { kind: 'buffered', prefix: 'svc', edits, modeOverride: 'responseHeaders' }
  const release: ExtProcReply = {
    kind: 'continue',
    prefix: 'svc',
    edits,
    upstream: 'https',
    modeOverride: 'responseHeaders',
  }
  t.match(responseMessage(hold, 'request_headers').mode_override, WATCH)
  t.match(responseMessage(release, 'request_headers').mode_override, WATCH)
  t.equal(responseMessage(hold, 'request_headers').mode_override?.response_body_mode ?? 'NONE', 'NONE')
  const whole = { ...WATCH, response_body_mode: 'BUFFERED' }
  t.match(responseMessage({ ...hold, modeOverride: 'responseBody' }, 'request_headers').mode_override, whole)
  const pass = responseMessage({ kind: 'continueResponse' }, 'response_headers').mode_override
  t.equal(pass?.response_body_mode ?? 'NONE', 'NONE', 'what passes is not collected any more')
  t.match(pass, WATCH)
  t.equal(responseMessage(release, 'request_body').mode_override, undefined)
  t.equal(responseMessage({ ...hold, modeOverride: undefined }, 'request_headers').mode_override, undefined)
  t.end()
})

t.test('replies to response phases are decoded by the reference decoder', (t) => {
  const collect = responseMessage({ kind: 'bufferedResponse', destinationStatus: '201' }, 'response_headers')
  t.match(collect.mode_override, { ...WATCH, response_body_mode: 'BUFFERED' })
  t.same(collect.dynamic_metadata, member({ destination_status: text('201') }))
  t.ok(collect.response_headers)
  for (const phase of ['response_headers', 'response_body'] as const) {
    const pass = responseMessage({ kind: 'continueResponse' }, phase)
    const mode = phase === 'response_headers' ? ['mode_override'] : []
    t.same(Object.keys(pass).sort(), ['response', phase, ...mode].sort())
    t.equal(pass[phase]?.response.body_mutation, undefined)
    t.notOk(pass[phase]?.response.clear_route_cache)
  }
  const body = Buffer.from('new')
  const replaced = responseMessage({ kind: 'replaceResponse', edits, body }, 'response_body').response_body
    ?.response
  t.same(replaced?.body_mutation?.body, body)
  t.same(sorted(replaced?.header_mutation ?? {}), MUTATION)
  t.notOk(replaced?.clear_route_cache, 'a route is not chosen again')
  t.end()
})

t.test('a header with several lines keeps their order: the first replaces, the others are appended', (t) => {
  const several = { set: new Map([['set-cookie', ['a=1', 'b=2', 'c=3']]]), remove: [] }
  const message = responseMessage(
    { kind: 'replaceResponse', edits: several, body: Buffer.alloc(0) },
    'response_body',
  )
  t.match(message.response_body?.response.header_mutation?.set_headers, [
    line('set-cookie', 'a=1'),
    { header: { key: 'set-cookie', raw_value: Buffer.from('b=2') }, append: { value: true } },
    { header: { key: 'set-cookie', raw_value: Buffer.from('c=3') }, append: { value: true } },
  ])
  t.end()
})

t.test('a body in a `continue` reply to request headers is sent as CONTINUE_AND_REPLACE', (t) => {
  const body = Buffer.from('x')
  const release = { kind: 'continue', prefix: 'svc', edits, upstream: 'https', body } as const
  t.equal(
    responseMessage(release, 'request_headers').request_headers?.response.status,
    'CONTINUE_AND_REPLACE',
  )
  t.not(responseMessage(release, 'request_body').request_body?.response.status, 'CONTINUE_AND_REPLACE')
  t.end()
})

t.test("the destination's response is decoded as a request is", (t) => {
  const map = { headers: { headers: [{ key: 'X-A', value: '1' }] }, end_of_stream: true }
  t.same(decodeRequest(encodeRequest({ response_headers: map })), {
    kind: 'response_headers',
    head: new Map([['x-a', ['1']]]),
    endOfStream: true,
    streamed: false,
  })
  const body = Buffer.from('y')
  t.same(decodeRequest(encodeRequest({ response_body: { body } })), {
    kind: 'response_body',
    body,
    endOfStream: false,
  })
  t.end()
})
