import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { ERRORS } from '../../src/common/errors.ts'
import type { Call } from '../../src/ext-proc/call.ts'
import { listen } from '../../src/ext-proc/listen.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'
import { KEYS, type Responded } from '../kit/egress.ts'
import { messageFor } from '../kit/ext-proc.ts'
import { ISSUES } from '../kit/fault-processor.ts'
import { SECRET, startFaultyWorld } from '../kit/faulty-world.ts'
import { startReceiver } from '../kit/receiver.ts'
import { http2Session, type InsideOptions, overHttp1, overHttp2 } from '../kit/tunnel.ts'
import { until } from '../kit/until.ts'
import { upload } from '../kit/upload.ts'

const faulty = await startFaultyWorld()
const { world, socket, to, startProcessor, prepareProcessor, killProcessor } = faulty
/** Where streamed bodies go. */
const receiver = await startReceiver(await world.authority.issue(['dest.test']), 'h1')
t.teardown(async () => {
  await receiver.close()
  await faulty.close()
})

type Place = Exclude<keyof typeof ISSUES, 'connect'>

/** A kind of request. */
interface Kind {
  /** Faults of the processor, by the phase in which it has them. */
  readonly faults: Partial<Readonly<Record<Place, readonly string[]>>>
  /** Sends a request, during which the processor has this fault. */
  send(fault: string): Promise<Responded>
}

const headersOf = (fault: string) => ({ 'x-fault': fault, 'x-to': to, 'svc-trace-id': 'trace' })
const atEdge = (method: string, body?: string) => (fault: string) =>
  world.post('/proxy/x', { method, headers: headersOf(fault), ...(body === undefined ? {} : { body }) })

const inTunnel = (protocol: 'h1' | 'h2', options: InsideOptions) => async (fault: string) => {
  const tunnel = await world.open('api.test', { alpn: [protocol === 'h1' ? 'http/1.1' : 'h2'] })
  const sent = { ...options, headers: { ...headersOf(fault), ...options.headers } }
  try {
    if (protocol === 'h1') return await overHttp1(tunnel, world.authorityOf(), sent)
    return await overHttp2(http2Session(tunnel, world.authorityOf()), sent)
  } finally {
    tunnel.destroy()
  }
}

const streamed =
  (protocol: 'h1' | 'h2') =>
  (fault: string, signal = AbortSignal.timeout(60_000)) => {
    const body = ['{{ secret }}', ...Array.from({ length: 30 }, () => '{{ secret }}'.repeat(5_000))]
    return upload(world.port, 'https://x', body, { protocol, headers: headersOf(fault), signal })
  }

/** Faults before a first reply. */
const UNREPLIED = ['end', 'error', 'kill', 'empty', 'undecodable', 'wrong-phase', 'bare-immediate']
/** Without those after a reply, which is the last one where there is no body. */
const WITHOUT_BODY = ISSUES.headers.filter((name) => !/after|double|unclean/.test(name))
const everySecond = (names: readonly string[], first: 0 | 1) => names.filter((_, at) => at % 2 === first)

const WEBSOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}

const BUFFERED: Kind = {
  faults: {
    headers: ISSUES.headers,
    body: ISSUES.body,
    'response-headers': ISSUES['response-headers'],
    'response-body': ISSUES['response-body'],
  },
  send: atEdge('POST', SECRET),
}

const KINDS: Readonly<Record<string, Kind>> = {
  'a buffered request': BUFFERED,
  'a request without a body': {
    faults: {
      headers: WITHOUT_BODY,
      'response-headers': ISSUES['response-headers'],
      'response-body': ISSUES['response-body'],
    },
    send: atEdge('GET'),
  },
  'a streamed request': { faults: { headers: UNREPLIED }, send: streamed('h1') },
  'a streamed request over HTTP/2': { faults: { headers: UNREPLIED }, send: streamed('h2') },
  'a request in a tunnel': {
    faults: { headers: everySecond(ISSUES.headers, 0), body: everySecond(ISSUES.body, 0) },
    send: inTunnel('h1', { body: SECRET }),
  },
  'a request in a tunnel over HTTP/2': {
    faults: { headers: everySecond(ISSUES.headers, 1), body: everySecond(ISSUES.body, 1) },
    send: inTunnel('h2', { body: SECRET, headers: { 'content-length': String(SECRET.length) } }),
  },
  'a body of unknown length in a tunnel': {
    faults: { headers: UNREPLIED },
    send: inTunnel('h1', { body: [SECRET] }),
  },
  'a body of unknown length in a tunnel over HTTP/2': {
    faults: { headers: UNREPLIED },
    send: inTunnel('h2', { body: [SECRET] }),
  },
  'a WebSocket': {
    faults: { headers: WITHOUT_BODY },
    send: inTunnel('h1', { method: 'GET', headers: WEBSOCKET }),
  },
}

const isError = (t: Test, { status, headers, json }: Responded, expected: number) => {
  t.equal(status, expected)
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.equal(json?.proxy_error?.status, expected)
  t.hasProp(ERRORS, json?.proxy_error?.code)
}

/** Nothing was sent to the destination, nor to our own API. */
const nothingLeft = (t: Test, connections = world.destination.connections()) => {
  t.same(world.destination.received, [])
  t.equal(world.destination.connections(), connections)
  t.same(receiver.arrivals, [])
  t.same(world.apiPaths, [])
}

const isClosed = async (t: Test, kind: Kind, fault: string, expected: number) => {
  const before = world.destination.connections()
  const response = await kind.send(fault)
  isError(t, response, expected)
  t.equal(response.headers['svc-proxy-destination-status'], undefined)
  nothingLeft(t, before)
}

const isAlive = async (t: Test) => {
  world.destination.received.length = 0
  const response = await BUFFERED.send('')
  t.equal(response.status, 200, 'the next request works')
  t.equal(Buffer.from(response.json.body, 'base64').toString(), 'replaced')
  t.equal(world.destination.received.length, 1, 'and arrives once')
  world.destination.received.length = 0
}

t.test('without a processor, from the start of Envoy on, nothing is forwarded', async (t) => {
  t.notOk(existsSync(socket))
  const { status } = await world.connect()
  t.ok(status >= 500, `${status}`)
  for (const kind of [BUFFERED, KINDS['a request without a body'], KINDS['a streamed request']])
    if (kind) await isClosed(t, kind, '', 504)
  await startProcessor()
  await isAlive(t)
})

t.test('a request without a processor waits briefly for one', async (t) => {
  killProcessor()
  const putInPlace = await prepareProcessor()
  const waiting = BUFFERED.send('')
  await until('Envoy retries', async () => (await stat('upstream_rq_retry')) > 0)
  putInPlace()
  t.equal((await waiting).status, 200)
  t.equal(world.destination.received.length, 1)
  world.destination.received.length = 0
})

const stat = (name: string) => world.envoy.stat(`cluster.gateway.${name}`)

/** Faults after which the processor is restarted. */
const ENDED = /kill|stop/
const statusOf = (fault: string) => (fault === 'bare-immediate' ? 418 : 504)

for (const [name, kind] of Object.entries(KINDS))
  for (const place of ['headers', 'body'] as const)
    for (const fault of kind.faults[place] ?? [])
      t.test(`fault "${fault}" at the ${place} of ${name} forwards nothing`, async (t) => {
        await isClosed(t, kind, `${place}:${fault}`, statusOf(fault))
        if (ENDED.test(fault)) {
          killProcessor()
          await isClosed(t, BUFFERED, '', 504)
          await startProcessor()
        }
        await isAlive(t)
      })

for (const fault of ISSUES.connect)
  t.test(`fault "${fault}" at CONNECT opens no tunnel`, async (t) => {
    const { status } = await world.connect('api.test', { lines: [`x-fault: connect:${fault}`] })
    t.ok(fault === 'bare-immediate' ? status === 418 : status >= 500, `${status}`)
    nothingLeft(t)
    if (ENDED.test(fault)) await startProcessor()
  })

/** The request was sent once; the caller does not get the destination's response. */
const isRetained = (t: Test, response: Responded, status: number) => {
  t.equal(response.status, status)
  t.notMatch(response.text, /rawHeaders|x-fault|httpVersion/, 'nothing of the destination arrives')
  t.equal(response.headers['x-from'], undefined)
  if (status !== 418) t.equal(response.json?.proxy_error?.status, status)
  t.equal(response.headers['svc-trace-id'], 'trace')
  t.equal(world.destination.received.length, 1)
  world.destination.received.length = 0
}

for (const [name, kind] of Object.entries(KINDS))
  for (const place of ['response-headers', 'response-body'] as const)
    for (const fault of kind.faults[place] ?? [])
      t.test(`fault "${fault}" at the ${place} of ${name} returns no destination response`, async (t) => {
        isRetained(t, await kind.send(`${place}:${fault}`), statusOf(fault))
        if (ENDED.test(fault)) await startProcessor()
      })

t.test('a response that the processor replaces is returned as replaced', async (t) => {
  const response = await BUFFERED.send('response-body:')
  t.equal(response.status, 200)
  t.equal(response.text, 'replaced')
  t.equal(response.headers['x-from'], 'destination')
  world.destination.received.length = 0
})

t.test('a processor that ends during an upload forwards nothing', async (t) => {
  const client = connect(world.port, '127.0.0.1')
  await once(client, 'connect')
  const before = await stat('upstream_rq_total')
  client.write(
    [
      'POST /proxy HTTP/1.1',
      'host: x',
      `x-to: ${to}`,
      `svc-api-key: ${KEYS.private}`,
      'content-length: 100',
      '',
      'half',
    ].join('\r\n'),
  )
  await until('the gateway is asked', async () => (await stat('upstream_rq_total')) > before)
  killProcessor()
  client.write('x'.repeat(96))
  let text = ''
  for await (const chunk of client) {
    text += chunk
    if (text.includes('"title"')) break
  }
  client.destroy()
  t.match(text, /^HTTP\/1\.1 504 /)
  t.match(text, /proxy_error/)
  t.same(world.destination.received, [])
})

/** Reactions to the messages of a stream, in order, on the gateway's own transport, which can also reset it. */
type Reactions = readonly ((call: Call) => void)[]

const reacting = async (reactions: Reactions, work: () => Promise<void>) => {
  killProcessor()
  const listener = await listen(
    socket,
    (call) => {
      let messages = 0
      return { message: () => reactions[messages++]?.(call), end: () => call.reset(), gone: () => {} }
    },
    { calls: 10, messageBytes: 16_000_000 },
  )
  await work()
  await listener.close(0)
}

const reset = (call: Call) => call.reset()
const end = (call: Call) => call.end()
const send =
  (...[reply, phase = 'request_headers']: [ExtProcReply, Parameters<typeof messageFor>[1]?]) =>
  (call: Call) =>
    call.send(messageFor(reply, phase))
const both =
  (...reactions: Reactions) =>
  (call: Call) => {
    for (const react of reactions) react(call)
  }
const edits = {
  set: new Map([
    [':authority', to],
    ['svc-trace-id', 'trace'],
  ]),
  remove: ['svc-api-key'],
}

const hold = send({ kind: 'buffered', prefix: 'svc', edits })

for (const [fault, reactions] of Object.entries<Reactions>({
  'resets at the headers': [reset],
  'resets at the body': [hold, reset],
  'resets after its reply to the headers': [both(hold, reset)],
  'ends at the headers': [end],
  'ends at the body': [hold, end],
}))
  t.test(`a buffered request is not forwarded when its gateway ${fault}`, (t) =>
    reacting(reactions, () => isClosed(t, BUFFERED, '', 504)),
  )

const watch = send({
  kind: 'continue',
  prefix: 'svc',
  upstream: 'https',
  modeOverride: 'responseBody',
  edits,
})
const awaitBody = send({ kind: 'bufferedResponse', destinationStatus: '200' }, 'response_headers')

for (const [place, reactions, destinationStatus] of [
  ['headers', [watch, reset], undefined],
  ['body', [watch, awaitBody, reset], '200'],
] as const)
  t.test(`a stream reset by the gateway at the ${place} of a response returns no destination response`, (t) =>
    reacting(reactions, async () => {
      const response = await atEdge('GET')('')
      isRetained(t, response, 504)
      t.equal(response.headers['svc-proxy-destination-status'], destinationStatus)
    }),
  )

t.test('a response that fills the buffer before its headers are processed is rejected at once', (t) => {
  const large = { ...edits, set: new Map([...edits.set, [':path', '/large-json?bytes=9000000']]) }
  const ask = send({
    kind: 'continue',
    prefix: 'svc',
    upstream: 'https',
    modeOverride: 'responseBody',
    edits: large,
  })
  return reacting([ask], async () => isRetained(t, await atEdge('GET')(''), 502))
})

const RELEASE: Extract<ExtProcReply, { kind: 'continue' }> = {
  kind: 'continue',
  prefix: 'svc',
  upstream: 'dialed_https',
  address: `127.0.0.1:${receiver.port}`,
  edits: { ...edits, set: new Map([[':authority', `dest.test:${receiver.port}`]]) },
}
const { address: _, ...NOWHERE } = RELEASE
const release = send(RELEASE)
const piece = send({ kind: 'streamed', body: Buffer.from('piece'), isLast: false }, 'request_body')

/**
 * Envoy 1.40 has no destination for the body then. It rejects some of these requests, and leaves others to the timeout
 * of their caller.
 */
const NOWHERE_TO_GO: Readonly<Record<string, Reactions>> = {
  'replies with buffered': [send({ ...RELEASE, kind: 'buffered' })],
  'names no address': [send(NOWHERE), piece],
}
const MISTAKES: Readonly<Record<string, Reactions>> = {
  'ends at the headers': [end],
  'resets at the headers': [reset],
  'resets after its reply to the headers': [both(release, reset)],
  'resets after a part': [both(release, piece), reset],
  'sends a part first': [piece],
  'replaces the complete body': [release, send({ ...RELEASE, body: Buffer.from('all') }, 'request_body')],
  'continues a part unchanged': [release, send({ kind: 'continueResponse' }, 'request_body')],
  'sends a malformed message': [release, (call) => call.send(Buffer.from('ffffffffffffffffffff', 'hex'))],
  'replies to the headers twice': [both(release, release)],
}

for (const protocol of ['h1', 'h2'] as const) {
  for (const [fault, reactions] of Object.entries(MISTAKES))
    t.test(`a streamed body is not forwarded over ${protocol} when its gateway ${fault}`, (t) =>
      reacting(reactions, async () => {
        receiver.arrivals.length = 0
        const { status, json } = await streamed(protocol)('')
        t.ok(status >= 500, `${status}`)
        t.equal(json?.proxy_error?.status, status)
        // A destination that was dialed before the fault sees a request that never ends.
        if (receiver.arrivals.length > 0) {
          const { end, head } = await receiver.ended()
          t.equal(end, 'aborted')
          t.notMatch(head.toString(), /secret/)
        }
      }),
    )
  for (const [fault, reactions] of Object.entries(NOWHERE_TO_GO))
    t.test(`a streamed body goes nowhere over ${protocol} when its gateway ${fault}`, async (t) => {
      const replied = Promise.withResolvers<void>()
      const last = both(reactions.at(-1) ?? reset, () => replied.resolve())
      await reacting([...reactions.slice(0, -1), last], async () => {
        receiver.arrivals.length = 0
        const caller = new AbortController()
        const sent = streamed(protocol)('', caller.signal).catch(() => undefined)
        await Promise.race([replied.promise, sent])
        // Envoy has one worker: it has read the reply by then.
        for (let calls = 0; calls < 5; calls++) await world.post('/healthz', { method: 'GET', key: null })
        world.apiPaths.length = 0
        caller.abort()
        const status = (await sent)?.status ?? 'none'
        t.ok(status === 'none' || status >= 500, `${status}`)
        nothingLeft(t)
      })
    })
}
