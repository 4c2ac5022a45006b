import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import type { StoredProxy } from '../../src/sdk/index.ts'
import { createAuthority } from '../kit/authority.ts'
import { KEYS } from '../kit/egress.ts'
import { PROBES } from '../kit/forbidden-addresses.ts'
import { startForwardWorld } from '../kit/forward-world.ts'
import { startReceiver } from '../kit/receiver.ts'
import { basic, http2Session, overHttp1, overHttp2, secure } from '../kit/tunnel.ts'

const PAN = '4242424242424242'
const BODY = '{"pan":"{{ card | json: \'$.number\' }}"}'
const JSON_TYPE = { 'content-type': 'application/json' }
const STORED = {
  id: 'stored',
  tenantId: 'tenant',
  destinationUrl: '',
  requireAuth: true,
  configuration: {},
}

/** Stored proxies by the first segment of the path. */
const PROXIES: Readonly<Record<string, Partial<StoredProxy>>> = {
  stored: {
    requestTransform: 'module.exports = ({ args }) => ({ headers: args.headers, body: { was: args.body } })',
  },
  responding: {
    responseTransform: 'module.exports = ({ args }) => ({ headers: args.headers, body: { code: true } })',
  },
}

/** Callers and paths, as the gateway looked them up. */
const asked: (readonly [actor: string, path: string])[] = []
const SURFACES = ['body', 'path', 'header:authorization', 'query:key'] as const
const unbound = new Set<string>()
const world = await startForwardWorld({
  hosts: ['api.test', 'second.test', '*.api.test'],
  bindings: {
    connect: (_, host) => {
      if (unbound.has(host)) return 'deny'
      if (host === 'api.test' || host === 'second.test' || host.endsWith('.api.test')) return 'open'
      return host === 'free.test' || host === 'private.test' ? 'tunnel' : 'deny'
    },
    request: ({ actorId }, host, port, path) => {
      asked.push([actorId, path])
      if (unbound.has(host)) return undefined
      if (path.startsWith('/surfaces')) return { surfaces: SURFACES }
      const [, kind = ''] = path.split('/')
      const stored = PROXIES[kind]
      if (stored === undefined) return { surfaces: ['body'] as const }
      const proxy = { ...STORED, destinationUrl: `https://${host}:${port}/stored?of=base`, ...stored }
      return { proxy, rest: path.slice(1 + kind.length) }
    },
  },
})
for (const host of ['second.test', 'a.api.test']) world.dns.set(host, { a: ['127.0.0.1'] })
world.dns.set('private.test', { a: ['10.1.2.3'] })
t.teardown(() => world.close())

const sent = (response: { readonly text: string }): string =>
  Buffer.from(JSON.parse(response.text).body ?? '', 'base64').toString()
const codeOf = (text: string): string => JSON.parse(text).proxy_error.code

for (const protocol of ['request', 'request2'] as const) {
  t.test(`a body leaves with values over ${protocol}`, async (t) => {
    const response = await world[protocol]({ body: BODY, headers: JSON_TYPE, path: '/v1/charges?a=b' })
    t.equal(response.status, 200, response.text)
    t.equal(sent(response), `{"pan":"${PAN}"}`)
    t.equal(world.destination.last().path, '/v1/charges?a=b')
    t.equal(response.headers['svc-proxy-destination-status'], '200')
    t.match(response.headers['svc-trace-id'], /./)
  })

  t.test(`a traceparent inside a tunnel is forwarded with a new span over ${protocol}`, async (t) => {
    const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
    const headers = { ...JSON_TYPE, traceparent: `00-${trace}-${span}-01`, 'svc-trace-id': 'ignored' }
    for (const body of [BODY, [BODY.slice(0, 9), BODY.slice(9)]]) {
      const response = await world[protocol]({ body, headers })
      t.equal(response.status, 200, response.text)
      t.equal(response.headers['svc-trace-id'], trace)
      const { traceparent } = world.destination.last().headers
      t.match(traceparent, new RegExp(`^00-${trace}-(?!${span})[0-9a-f]{16}-01$`))
    }
    const forged = await world[protocol]({ body: BODY, headers: { ...JSON_TYPE, traceparent: 'forged' } })
    t.match(forged.headers['svc-trace-id'], /^[0-9a-f]{32}$/)
    t.equal(world.destination.last().headers.traceparent, undefined)
  })

  t.test(`a body without a length leaves complete, without one, over ${protocol}`, async (t) => {
    const body = [BODY.slice(0, 9), BODY.slice(9)]
    const response = await world[protocol]({ body, headers: JSON_TYPE })
    t.equal(response.status, 200, response.text)
    t.equal(sent(response), `{"pan":"${PAN}"}`)
    t.equal(world.destination.last().headers['content-length'], undefined)
  })

  t.test(`a body of 9 MiB streams, with and without a length, over ${protocol}`, async (t) => {
    const fill = 'x'.repeat(9 * 1024 * 1024)
    const text = `{{ card | json: '$.number' }}${fill}{{ card | json: '$.cvc' }}`
    for (const body of [text, [text.slice(0, 1000), text.slice(1000)]]) {
      const headers = {
        'content-type': 'text/plain',
        ...(typeof body === 'string' ? { 'content-length': String(body.length) } : {}),
      }
      const response = await world[protocol]({ body, headers })
      t.equal(response.status, 200, response.text.slice(0, 200))
      t.ok(sent(response) === `${PAN}${fill}123`)
    }
  })

  t.test(`nothing of a long body is sent when its first part is invalid, over ${protocol}`, async (t) => {
    const before = world.destination.received.length
    const text = `{{ nothing }}${'x'.repeat(1000)}`
    const response = await world[protocol]({ body: [text], headers: { 'content-type': 'text/plain' } })
    t.equal(response.status, 400)
    t.equal(codeOf(response.text), 'invalid_expression')
    t.equal(world.destination.received.length, before)
  })

  t.test(`methods, headers and bodiless requests pass over ${protocol}`, async (t) => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST']) {
      const response = await world[protocol]({
        method,
        path: '/a/b',
        headers: {
          authorization: 'Bearer own',
          'proxy-authorization': 'Basic eDp5',
          ...(protocol === 'request' ? { 'proxy-connection': 'keep-alive' } : {}),
          'svc-api-key': KEYS.stranger,
          'svc-proxy-url': 'https://elsewhere.test',
          'svc-trace-id': 'chosen',
          'bt-anything': 'x',
        },
      })
      t.equal(response.status, 200, `${method} ${response.text}`)
      t.not(response.headers['svc-trace-id'], 'chosen')
      const { headers, method: arrived } = world.destination.last()
      t.equal(arrived, method)
      t.equal(headers.authorization, 'Bearer own')
      const others = Object.keys(headers).filter((name) =>
        /^(svc-(?!trace-id)|bt-|proxy-|x-sidevault)/.test(name),
      )
      t.same(others, [])
      t.equal(asked.at(-1)?.[0], 'private')
    }
    const { status, text } = await world[protocol]({ method: 'TRACE' })
    t.equal(status, 405, text)
  })

  t.test(`expressions are evaluated in the surfaces of the binding, over ${protocol}`, async (t) => {
    const authorization = "Bearer {{ card | json: '$.cvc' }}"
    const path = "/surfaces/{{card|json:'$.cvc'}}?key=%7B%7Bcard|json:'$.cvc'%7D%7D"
    for (const body of [undefined, 'x', ['x'], ['x'.repeat(9 * 1024 * 1024)]]) {
      const response = await world[protocol]({
        ...(body === undefined ? { method: 'GET' } : { body }),
        path,
        headers: { authorization, 'content-type': 'text/plain' },
      })
      t.equal(response.status, 200, response.text.slice(0, 300))
      t.equal(world.destination.last().path, '/surfaces/123?key=123')
      t.equal(world.destination.last().headers.authorization, 'Bearer 123')
    }
    const closed = await world[protocol]({ headers: { authorization: '{{ card }}' }, path: '/closed' })
    t.equal(closed.status, 400)
  })

  t.test(`a stored proxy applies to its path prefix over ${protocol}`, async (t) => {
    const response = await world[protocol]({ body: BODY, headers: JSON_TYPE, path: '/stored/a?b=c' })
    t.equal(response.status, 200, response.text)
    t.equal(sent(response), `{"was":{"pan":"${PAN}"}}`)
    t.equal(world.destination.last().path, '/stored/a?of=base&b=c')
    const pieces = await world[protocol]({ body: [BODY], headers: JSON_TYPE, path: '/stored/a' })
    t.equal(sent(pieces), `{"was":{"pan":"${PAN}"}}`)
    const headers = { ...JSON_TYPE, 'content-length': String(BODY.length) }
    const custom = await world[protocol]({ body: BODY, headers, path: '/responding/a' })
    t.same(custom.json, { code: true })
  })

  t.test(`a body that a stored proxy's code cannot read is rejected over ${protocol}`, async (t) => {
    const before = world.destination.received.length
    const send = (path: string, body: string | string[]) => {
      const length = typeof body === 'string' ? { 'content-length': String(body.length) } : {}
      return world[protocol]({ body, path, headers: { 'content-type': 'text/plain', ...length } })
    }
    const unknown = await send('/responding/a', ['x'])
    t.equal(unknown.status, 400)
    t.match(unknown.text, /Send it with a content-length/)
    const long = 'x'.repeat(9 * 1024 * 1024)
    for (const [path, body] of [
      ['/responding/a', long],
      ['/stored/a', long],
      ['/stored/a', [long]],
    ] as const) {
      const { status, text } = await send(path, body as string | string[])
      t.equal(status, 413, path)
      t.equal(codeOf(text), 'too_large')
    }
    t.equal(world.destination.received.length, before)
  })
}

t.test('CONNECT and other proxy requests inside a tunnel are rejected', async (t) => {
  const before = world.destination.received.length
  for (const [lines, status] of [
    [[`CONNECT ${world.authorityOf()} HTTP/1.1`, `host: ${world.authorityOf()}`], 405],
    [['CONNECT second.test:443 HTTP/1.1', 'host: second.test:443'], 405],
    [['GET https://second.test/ HTTP/1.1', 'host: api.test'], 421],
    [['GET http://second.test/ HTTP/1.1', `host: ${world.authorityOf()}`], 421],
    [['GET / HTTP/1.1', `host: ${world.authorityOf()}`, 'host: second.test'], 421],
    [['GET / HTTP/1.1', `host: ${world.authorityOf()}:443`], 421],
    [['QUERY / HTTP/1.1', `host: ${world.authorityOf()}`], 400],
    [['OPTIONS * HTTP/1.1', `host: ${world.authorityOf()}`], 404],
    [[`${'M'.repeat(33)} / HTTP/1.1`, `host: ${world.authorityOf()}`], 400],
    [['GET / HTTP/1.0', `host: ${world.authorityOf()}`], 426],
    [['GET /../x HTTP/1.1', `host: ${world.authorityOf()}`], 400],
    [
      ['POST / HTTP/1.1', `host: ${world.authorityOf()}`, 'content-length: 1', 'transfer-encoding: chunked'],
      400,
    ],
    [['POST / HTTP/1.1', `host: ${world.authorityOf()}`, 'content-length: 1', 'content-length: 2'], 400],
  ] as const) {
    const tunnel = await world.open()
    tunnel.on('error', () => {})
    tunnel.write([...lines, '', ''].join('\r\n'))
    const [head] = await once(tunnel, 'data')
    t.match(String(head), new RegExp(`^HTTP/1\\.1 ${status} `), lines.join())
    tunnel.destroy()
  }
  t.equal(world.destination.received.length, before)
})

t.test('CONNECT accepts Basic, Bearer and HTTP/1.0', async (t) => {
  for (const lines of [
    [`proxy-authorization: Bearer ${KEYS.private}`],
    [`proxy-authorization: bAsIc ${Buffer.from(`any:${KEYS.private}`).toString('base64')}`],
  ])
    for (const version of ['1.0', '1.1'] as const) {
      const { status, socket } = await world.connect('api.test', { lines, version })
      t.equal(status, 200)
      socket.destroy()
    }
})

t.test('the response to CONNECT has the trace id of its traceparent', async (t) => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  for (const [sent, expected] of [
    [`00-${trace}-00f067aa0ba902b7-01`, trace],
    ['forged', '(?!4bf9)[0-9a-f]{32}'],
  ]) {
    const { status, head } = await world.connect('api.test', { lines: [`traceparent: ${sent}`] })
    t.equal(status, 407)
    t.match(head, new RegExp(`svc-trace-id: ${expected}\\r\\n`, 'i'))
  }
})

t.test('CONNECT without a valid key is 407 with a challenge', async (t) => {
  const wrong = [
    [],
    ['proxy-authorization: Basic'],
    ['proxy-authorization: Basic !!!'],
    [`proxy-authorization: Digest ${KEYS.private}`],
    [`proxy-authorization: ${basic('unknown')}`],
    [`proxy-authorization: ${basic('')}`],
    [`proxy-authorization: ${basic('key private')}`],
    [`svc-api-key: ${KEYS.private}`],
    [`authorization: ${basic(KEYS.private)}`],
  ]
  for (const lines of wrong) {
    const { status, head, body } = await world.connect('api.test', { lines })
    t.equal(status, 407, lines.join())
    t.match(head, /proxy-authenticate: Basic realm="sidevault"/i)
    t.equal(codeOf(body), 'proxy_authentication_required')
  }
  const two = [basic(KEYS.private), basic(KEYS.private)].map((value) => `proxy-authorization: ${value}`)
  t.equal((await world.connect('api.test', { lines: two })).status, 400)
  for (const key of [KEYS.idle, KEYS.public, KEYS.management])
    t.equal((await world.connect('api.test', { key })).status, 403, key)
})

t.test('CONNECT to an unbound host is 403', async (t) => {
  for (const to of ['other.test:443', ...PROBES.map((host) => `${host}:443`), `127.0.0.1:${world.proxy}`]) {
    const { status, body } = await world.connect('', { to })
    t.equal(status, 403, `${to} ${body}`)
  }
  for (const to of ['api.test', 'x@api.test:443', 'api.test:0', 'api.test:443/x', 'api%2etest:443', ':443'])
    t.ok([400, 403].includes((await world.connect('', { to })).status), to)
})

t.test('the forward proxy accepts CONNECT only', async (t) => {
  for (const line of ['GET http://api.test/ HTTP/1.1', 'POST /proxy HTTP/1.1', 'GET /readyz HTTP/1.1']) {
    const socket = connect(world.proxy, '127.0.0.1')
    socket.write(`${line}\r\nhost: api.test\r\nsvc-api-key: ${KEYS.private}\r\nconnection: close\r\n\r\n`)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    await once(socket, 'close')
    t.match(text, /^HTTP\/1.1 403 /)
    t.equal(codeOf(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)), 'forbidden')
  }
})

t.test('a CONNECT that Envoy rejects is logged with the trace id of the response', async (t) => {
  const own = await startForwardWorld({ bindings: { connect: () => 'deny', request: () => undefined } })
  const traces: (string | undefined)[] = []
  for (const to of ['secret.test:99999', 'secret/b', 'secret@api.test:443']) {
    const { status, head } = await own.connect('', { to })
    t.equal(status, 400, to)
    traces.push(/svc-trace-id: (.+)\r/i.exec(head)?.[1])
  }
  t.equal((await own.connect('api.test')).status, 403, 'which the gateway logs')
  await own.close()
  const lines = own.envoy
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'))
  t.same(
    lines.map((line) => JSON.parse(line).trace_id),
    traces,
  )
  for (const line of lines) t.match(JSON.parse(line), { operation: 'connect', status: 400 })
  t.notMatch(lines.join(), /secret/)
})

t.test('CONNECT host, server name and authority must be equal', async (t) => {
  const before = world.destination.received.length
  const elsewhere = await world.open('api.test', { serverName: 'second.test' })
  t.equal((await overHttp1(elsewhere, world.authorityOf())).status, 421)
  const session = http2Session(await world.open('api.test', { alpn: ['h2'] }), world.authorityOf())
  for (const authority of [
    world.authorityOf('second.test'),
    'api.test',
    'api.test:443',
    world.authorityOf('a.api.test'),
    `${world.authorityOf()}0`,
  ]) {
    const { status, text } = await overHttp2(session, { authority })
    t.equal(status, 421, authority)
    t.equal(codeOf(text), 'misdirected')
  }
  t.equal(world.destination.received.length, before)
  for (const authority of [
    world.authorityOf(),
    world.authorityOf('API.Test'),
    world.authorityOf('api.test.'),
  ])
    t.equal((await overHttp2(session, { authority })).status, 200, authority)
  session.destroy()
  for (const host of ['API.test', 'api.test.']) {
    const { status, socket } = await world.connect(host)
    t.equal(status, 200, host)
    socket.destroy()
  }
  const wildcard = await world.open('a.api.test')
  t.equal((await overHttp1(wildcard, world.authorityOf('a.api.test'))).status, 200)
})

t.test('a missing or unknown server name closes the connection, and is logged', async (t) => {
  for (const serverName of [null, 'unknown.test', 'none.invalid'])
    await t.rejects(world.open('api.test', { serverName }))
  const plain = await world.connect()
  plain.socket.write('GET / HTTP/1.1\r\nhost: api.test\r\n\r\n')
  await once(plain.socket, 'close')
})

t.test('two callers of one host keep their own permissions', async (t) => {
  const keys = [KEYS.private, KEYS.stranger, KEYS.rules]
  const opened = await Promise.all(
    keys.map(async (key) => ({
      actor: key.replace('key_', ''),
      h1: await world.open('api.test', { key }),
      h2: http2Session(await world.open('api.test', { key, alpn: ['h2'] }), world.authorityOf()),
    })),
  )
  asked.length = 0
  for (let round = 0; round < 5; round++)
    await Promise.all(
      opened.flatMap(({ actor, h1, h2 }) => [
        overHttp1(h1, world.authorityOf(), { path: `/${actor}` }),
        overHttp2(h2, { path: `/${actor}` }),
      ]),
    )
  t.equal(asked.length, 30)
  t.same(
    asked.filter(([actor, path]) => path !== `/${actor}`),
    [],
  )
  for (const { h1, h2 } of opened) {
    h1.destroy()
    h2.destroy()
  }
})

t.test('a host that is no longer bound is denied in open tunnels, too', async (t) => {
  const tunnel = await world.open()
  t.equal((await overHttp1(tunnel, world.authorityOf())).status, 200)
  unbound.add('api.test')
  const { status, text } = await overHttp1(tunnel, world.authorityOf())
  unbound.clear()
  t.equal(status, 403)
  t.equal(codeOf(text), 'destination_not_allowed')
  t.equal((await overHttp1(tunnel, world.authorityOf())).status, 200)
  tunnel.destroy()
})

t.test('an unbound host passes uninspected to an address that the gateway checked', async (t) => {
  const { status, socket } = await world.connect('free.test')
  t.equal(status, 200)
  const tls = await secure(socket, 'dest.test', { ca: world.authority.pem })
  const response = await overHttp1(tls, 'dest.test', { body: BODY, headers: JSON_TYPE })
  t.equal(sent(response), BODY, 'nothing is replaced')
  tls.destroy()
  const denied = await world.connect('private.test')
  t.equal(denied.status, 403)
  t.equal(codeOf(denied.body), 'destination_not_allowed')
})

t.test('CONNECT over HTTP/2: two keys on one connection keep their callers', async (t) => {
  const session = connectHttp2(`http://127.0.0.1:${world.proxy}`)
  asked.length = 0
  const keys = [KEYS.private, KEYS.stranger]
  const tunnels = await Promise.all(
    keys.map(async (key) => {
      const stream = session.request({
        ':method': 'CONNECT',
        ':authority': world.authorityOf(),
        'proxy-authorization': basic(key),
      })
      const [head] = await once(stream, 'response')
      t.equal(head[':status'], 200)
      return secure(stream as never, 'api.test', { ca: world.ca.pem })
    }),
  )
  for (const [at, tunnel] of tunnels.entries())
    t.equal((await overHttp1(tunnel, world.authorityOf(), { path: `/${keys[at]?.slice(4)}` })).status, 200)
  t.same(
    asked.map(([actor, path]) => path === `/${actor}`),
    [true, true],
  )
  const denied = session.request({ ':method': 'CONNECT', ':authority': 'other.test:443' })
  const [head] = await once(denied, 'response')
  t.equal(head[':status'], 407)
  session.destroy()
})

t.test('a session of one host is not resumed on another', async (t) => {
  const first = await world.open('api.test')
  const ticket = once(first, 'session') as Promise<[Buffer]>
  await overHttp1(first, world.authorityOf())
  const [session] = await ticket
  first.destroy()
  const same = await world.open('api.test', { session, key: KEYS.stranger })
  asked.length = 0
  t.equal((await overHttp1(same, world.authorityOf())).status, 200)
  t.equal(asked[0]?.[0], 'stranger', 'the caller is that of the CONNECT')
  same.destroy()
  const { socket } = await world.connect('second.test')
  const other = await secure(socket, 'second.test', { ca: world.ca.pem, session })
  t.equal(other.isSessionReused(), false)
  other.destroy()
})

t.test('an upload aborted by its client is aborted at the destination', async (t) => {
  const receiver = await startReceiver(await world.authority.issue(['api.test']), 'h1')
  t.teardown(() => receiver.close())
  const tunnel = await world.open('api.test', { to: `api.test:${receiver.port}` })
  const length = 20 * 1024 * 1024
  tunnel.write(
    `POST /x HTTP/1.1\r\nhost: api.test:${receiver.port}\r\ncontent-length: ${length}\r\ncontent-type: text/plain\r\n\r\n`,
  )
  const piece = Buffer.alloc(1024 * 1024, 'x')
  while (receiver.arrivals.length === 0)
    await new Promise((resolve) => tunnel.write(piece.subarray(0, 65_536), resolve))
  tunnel.destroy()
  t.equal((await receiver.ended()).end, 'aborted')
})

t.test('a response with connection: close arrives complete', async (t) => {
  for (let round = 0; round < 20; round++) {
    const response = await world.request({
      headers: { connection: 'close' },
      path: `/large?bytes=${round * 50_000}`,
    })
    t.equal(response.status, 200)
    t.equal(response.text.length, round * 50_000)
  }
})

t.test('the port may speak TLS', async (t) => {
  const authority = await createAuthority()
  const { cert, key } = await authority.issue(['127.0.0.1'])
  const secured = await startForwardWorld({
    tls: true,
    bootstrap: { tls: { certificate: cert, key } },
    bindings: { connect: () => 'open', request: () => ({ surfaces: ['body'] }) },
  })
  t.teardown(() => secured.close())
  const outer = connectTls({ host: '127.0.0.1', port: secured.proxy, ca: authority.pem })
  await once(outer, 'secureConnect')
  const to = secured.authorityOf()
  outer.write(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\nproxy-authorization: ${basic(KEYS.private)}\r\n\r\n`)
  const [head] = await once(outer, 'data')
  t.match(String(head), /^HTTP\/1.1 200 /)
  const inner = await secure(outer, 'api.test', { ca: secured.ca.pem })
  const response = await overHttp1(inner, to, { body: BODY, headers: JSON_TYPE })
  t.equal(sent(response), `{"pan":"${PAN}"}`)
  inner.destroy()
  outer.destroy()
})
