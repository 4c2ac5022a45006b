import { EventEmitter } from 'node:events'
import t from 'tap'
import type { Answer, Exchange } from '../../src/gateway/exchange.ts'
import { encodeAnswer, type ProcessStream, readHead, serveStream } from '../../src/gateway/stream.ts'
import { silentLog } from '../kit/egress.ts'

const edits = { set: new Map([[':path', '/x']]), remove: ['a'] }
const HOLD: Answer = { kind: 'hold', brand: 'svc', edits }
const RELEASE: Answer = { kind: 'release', brand: 'svc', edits, upstream: 'https', body: Buffer.from('b') }

/** The near side of a stream, as grpc-js shows it to a service. */
class Call extends EventEmitter {
  readonly written: object[] = []
  ended = false
  readonly failures: { code: number }[] = []

  constructor() {
    super()
    this.on('error', (error) => this.failures.push(error))
  }

  write(message: object) {
    this.written.push(message)
    return true
  }

  end() {
    this.ended = true
  }
}

const serve = (exchange: Exchange) => {
  const call = new Call()
  let signal: AbortSignal | undefined
  serveStream(
    call as unknown as ProcessStream,
    (given) => {
      signal = given
      return exchange
    },
    silentLog(),
  )
  return { call, signal: () => signal }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))
const exchangeOf = (headers: Answer, body: Answer = RELEASE): Exchange => ({
  headers: async () => headers,
  body: async () => body,
})
const HEADERS = { request: 'request_headers', request_headers: { end_of_stream: false } }
const BODY = { request: 'request_body', request_body: { body: Buffer.from('x') } }

t.test('only the last answer names where a request goes', async (t) => {
  const held = JSON.stringify(encodeAnswer(HOLD, 'request_headers'))
  t.match(held, /"active"/)
  t.notMatch(held, /"upstream"/)
  t.match(JSON.stringify(encodeAnswer(RELEASE, 'request_body')), /"upstream":\{"stringValue":"https"\}/)
})

t.test('headers, then a body, each answered once', async (t) => {
  const { call } = serve(exchangeOf(HOLD))
  call.emit('data', HEADERS)
  await settle()
  call.emit('data', BODY)
  await settle()
  t.equal(call.written.length, 2)
  t.match(call.written[1], { request_body: { response: { body_mutation: { body: Buffer.from('b') } } } })
  call.emit('end')
  t.ok(call.ended, 'Envoy ended after the last answer')
  t.same(call.failures, [])
})

for (const [name, messages] of Object.entries({
  'a body first': [BODY],
  'headers twice': [HEADERS, HEADERS],
  'a body after the release': [HEADERS, BODY, BODY],
  'response headers': [{ request: 'response_headers' }],
  'an empty message': [{}],
}))
  t.test(`${name} breaks the stream off with an error, never cleanly`, async (t) => {
    const { call, signal } = serve(exchangeOf(HOLD))
    for (const message of messages) {
      call.emit('data', message)
      await settle()
    }
    t.equal(call.failures.length, 1)
    t.not(call.failures[0]?.code, 0)
    t.notOk(call.ended)
    t.ok(signal() === undefined || signal()?.aborted)
  })

t.test(
  'a message before the last answer breaks the stream off, and the late answer is not sent',
  async (t) => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const { call } = serve({ headers: () => promise, body: async () => RELEASE })
    call.emit('data', HEADERS)
    call.emit('data', BODY)
    resolve(HOLD)
    await settle()
    t.equal(call.failures.length, 1)
    t.same(call.written, [])
  },
)

t.test('a stream that ends while an answer is owed is an error, not an end', async (t) => {
  const { call, signal } = serve(exchangeOf(HOLD))
  call.emit('data', HEADERS)
  await settle()
  call.emit('end')
  t.notOk(call.ended)
  t.equal(call.failures.length, 1)
  t.ok(signal()?.aborted)
})

t.test('a cancelled stream lets its exchange go', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const { call, signal } = serve({ headers: () => promise, body: async () => RELEASE })
  call.emit('data', HEADERS)
  call.emit('cancelled')
  t.ok(signal()?.aborted)
  resolve(HOLD)
  await settle()
  t.same(call.written, [])
})

t.test('an exchange that rejects is an error status', async (t) => {
  const { call } = serve({ headers: () => Promise.reject(new Error('boom')), body: async () => RELEASE })
  call.emit('data', HEADERS)
  await settle()
  t.equal(call.failures.length, 1)
  t.same(call.written, [])
})

t.test('header bytes are kept one to one, lines of one name in order', (t) => {
  const head = readHead({
    headers: {
      headers: [
        { key: 'X-A', raw_value: Buffer.from([0xe9, 0x41]) },
        { key: 'x-a', raw_value: Buffer.from('2') },
        { key: 'x-b', value: 'text' },
      ],
    },
  })
  t.same(
    [...head],
    [
      ['x-a', ['\u00e9A', '2']],
      ['x-b', ['text']],
    ],
  )
  t.end()
})
