import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { Log } from '../../../src/common/log.ts'
import { createShares } from '../../../src/common/shares.ts'
import { ATTRIBUTES, FORWARD_CHAINS } from '../../../src/ext-proc/contract.ts'
import type { Bindings } from '../../../src/forward-proxy/bindings.ts'
import type { ExchangeDeps } from '../../../src/gateway/exchange-deps.ts'
import { encodeTunnel, type Origin, tunnelOf } from '../../../src/gateway/forward/tunnel.ts'
import type { ExtProcReply } from '../../../src/gateway/types.ts'
import { createFarSide, exchangesOf, KEYS, silentLog } from '../../kit/egress.ts'
import { PROBES } from '../../kit/forbidden-addresses.ts'
import { basic } from '../../kit/tunnel.ts'

const origin = (attributes: Readonly<Record<string, string>>): Origin => ({
  attributes: new Map(Object.entries(attributes)),
  isBodyUnread: true,
})
const CONNECT = origin({ [ATTRIBUTES.chain]: FORWARD_CHAINS.connect })

const setUp = (deps: Partial<ExchangeDeps> = {}) => {
  const far = createFarSide()
  const held = createShares(2 ** 21, 'too many')
  const bindings: Bindings = { connect: () => 'open', request: () => undefined }
  const start = exchangesOf(far, {
    held,
    dial: async (host, port) => `192.0.2.1:${host.length + port}`,
    bindings,
    ...deps,
  })
  const connect = (authority: string, key: string = KEYS.private, traceparent?: string) => {
    const exchange = start(CONNECT)
    const head = new Map([
      [':method', ['CONNECT']],
      [':authority', [authority]],
      ['proxy-authorization', [basic(key)]],
      ...(traceparent === undefined ? [] : [['traceparent', [traceparent]] as const]),
    ])
    return { exchange, reply: exchange.onRequestHeaders(head, false) }
  }
  return { far, held, start, connect }
}

const codeOf = (reply: ExtProcReply): unknown => {
  if (reply.kind !== 'immediateResponse') return reply.kind
  return JSON.parse(reply.reply.body.toString()).proxy_error.code
}

t.test('a tunnel has its own identity, in normalized form', async (t) => {
  const { connect } = setUp()
  const replies = await Promise.all(['API.Test:443', 'api.test.:443'].map((to) => connect(to).reply))
  const nonces = new Set<string>()
  for (const reply of replies) {
    t.match(reply, { kind: 'connect', tunnel: `api.test 443 - ${KEYS.private}` })
    if (reply.kind === 'connect') nonces.add(reply.nonce)
  }
  t.equal(nonces.size, 2)
})

t.test('two tunnels of one trace have the trace id of their caller, and different nonces', async (t) => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const open = () => setUp().connect('api.test:443', KEYS.private, `00-${traceId}-00f067aa0ba902b7-01`).reply
  const nonces = new Set<string>()
  for (const reply of await Promise.all([open(), open()])) {
    t.match(reply, { kind: 'connect', traceId })
    if (reply.kind !== 'connect') continue
    t.ok(reply.nonce.startsWith(traceId), 'the access log cuts the trace id from it')
    nonces.add(reply.nonce)
  }
  t.equal(nonces.size, 2)
})

t.test('an unbound host is dialed by its address, after a record', async (t) => {
  const { connect, far } = setUp({ bindings: { connect: () => 'tunnel', request: () => undefined } })
  const reply = await connect('free.test:443').reply
  t.match(reply, { kind: 'connect', address: '192.0.2.1:452' })
  t.notOk('tunnel' in reply)
  t.match(far.records, [{ message: 'Tunnel passed on unopened' }])
  const failing = setUp({
    bindings: { connect: () => 'tunnel', request: () => undefined },
    audit: () => Promise.reject(new Error('disk full')),
  })
  t.equal(codeOf(await failing.connect('free.test:443').reply), 'internal')
})

t.test('the log line of a denied CONNECT names its host', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = { ...silentLog(), info: (line: Record<string, unknown>) => void lines.push(line) }
  const { connect } = setUp({
    log: log as unknown as Log,
    bindings: { connect: () => 'deny', request: () => undefined },
  })
  await connect('free.test:443').reply
  await connect('169.254.169.254:443').reply
  const code = 'destination_not_allowed'
  t.match(lines, [
    { code, host: 'free.test' },
    { code, host: '169.254.169.254' },
  ])
})

t.test('an unbound host with a denied address is recorded as denied only', async (t) => {
  const { connect, far } = setUp({
    bindings: { connect: () => 'tunnel', request: () => undefined },
    dial: () => Promise.reject(new AppError('destination_not_allowed', 'a private address')),
  })
  t.equal(codeOf(await connect('free.test:443').reply), 'destination_not_allowed')
  t.match(far.records, [{ message: /^Proxy call denied: / }])
  t.equal(far.records.length, 1)
})

t.test('ports, addresses and names that egress denies are denied before bindings are read', async (t) => {
  const { connect } = setUp({
    bindings: {
      connect: () => {
        throw new Error('asked')
      },
      request: () => undefined,
    },
  })
  for (const [to, code] of [
    ['api.test:8443', 'destination_not_allowed'],
    ...PROBES.map((host) => [`${host}:443`, 'destination_not_allowed'] as const),
    ['localhost:443', 'destination_not_allowed'],
    ['user@api.test:443', 'malformed'],
    ['api.test:443/x', 'malformed'],
    ['api.test:443#x', 'malformed'],
    ['api%2etest:443', 'malformed'],
    ['', 'malformed'],
  ] as const)
    t.equal(codeOf(await connect(to).reply), code, to)
})

t.test('a tunnel holds its share until it is closed', async (t) => {
  const { connect, held } = setUp()
  const opened = [connect('api.test:443'), connect('api.test:443')]
  for (const { reply } of opened) t.equal(codeOf(await reply), 'connect')
  t.equal(codeOf(await connect('api.test:443').reply), 'rate_limited')
  t.equal(codeOf(await connect('api.test:443', KEYS.stranger).reply), 'connect', 'another tenant')
  for (const { exchange } of opened) exchange.cancel()
  t.equal(held.held, 2 ** 19)
  t.equal(codeOf(await connect('api.test:443').reply), 'connect')
})

t.test('rate limits of keys apply to CONNECT and to each request inside', async (t) => {
  const admitted: (string | undefined)[] = []
  const { connect, start } = setUp({
    admit: async ({ key }) => {
      admitted.push(key)
      if (admitted.length > 1) throw new AppError('rate_limited', 'too many', { retryAfter: 1 })
    },
  })
  t.equal(codeOf(await connect('api.test:443').reply), 'connect')
  t.equal(codeOf(await connect('api.test:443').reply), 'rate_limited')
  const tunnel = encodeTunnel({ key: KEYS.private, host: 'api.test', port: 443, address: undefined })
  const inside = start(
    origin({
      [ATTRIBUTES.chain]: FORWARD_CHAINS.requests,
      [ATTRIBUTES.tunnel]: tunnel,
      [ATTRIBUTES.serverName]: 'api.test',
    }),
  )
  const head = new Map([
    [':method', ['GET']],
    [':authority', ['api.test']],
    [':path', ['/']],
  ])
  t.equal(codeOf(await inside.onRequestHeaders(head, true)), 'rate_limited')
  t.same(admitted, [KEYS.private, KEYS.private, KEYS.private])
})

t.test(
  'the denial of a request in a tunnel names its host or its path, whichever is the cause',
  async (t) => {
    for (const [bound, detail] of [
      [undefined, /The host .*api\.test.* is no longer bound/],
      ['ambiguous', /read the path of this request.*Send the normalized path/],
    ] as const) {
      const { start } = setUp({ bindings: { connect: () => 'open', request: () => bound } })
      const inside = start(
        origin({
          [ATTRIBUTES.chain]: FORWARD_CHAINS.requests,
          [ATTRIBUTES.tunnel]: encodeTunnel({
            key: KEYS.private,
            host: 'api.test',
            port: 443,
            address: undefined,
          }),
          [ATTRIBUTES.serverName]: 'api.test',
        }),
      )
      const head = new Map([
        [':method', ['GET']],
        [':authority', ['api.test']],
        [':path', ['//v1/x']],
      ])
      const reply = await inside.onRequestHeaders(head, true)
      t.equal(codeOf(reply), 'destination_not_allowed')
      if (reply.kind === 'immediateResponse') t.match(reply.reply.body.toString(), detail)
    }
  },
)

t.test('a request without a tunnel identity, or of another listener, is denied', async (t) => {
  const { start } = setUp()
  const head = new Map([
    [':method', ['GET']],
    [':authority', ['api.test']],
    [':path', ['/']],
    ['svc-api-key', [KEYS.private]],
    ['svc-proxy-url', ['https://api.test']],
  ])
  const chain = { [ATTRIBUTES.chain]: FORWARD_CHAINS.requests, [ATTRIBUTES.serverName]: 'api.test' }
  for (const tunnel of ['', 'api.test 443 -', 'api.test 443 - a b', ' 443 - key_private'])
    t.equal(
      codeOf(await start(origin({ ...chain, [ATTRIBUTES.tunnel]: tunnel })).onRequestHeaders(head, true)),
      'internal',
    )
  t.throws(() => start(origin({})))
  t.throws(() => start(origin({ [ATTRIBUTES.chain]: 'edge' })))
})

t.test('a tunnel is serialized to filter state and back unchanged', (t) => {
  for (const address of [undefined, '192.0.2.1', '2001:db8::1']) {
    const tunnel = { key: 'a-key', host: '*.x.test', port: 8443, address }
    const attributes = { [ATTRIBUTES.tunnel]: encodeTunnel(tunnel) }
    t.same(tunnelOf(origin(attributes)), tunnel)
  }
  t.end()
})
