import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { type ServiceOptions, startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'
import { gate, thingsPlugin } from './kit.ts'

/** A pause of this process is not taken for a slow client. */
const SLOW_LIMITS = { requestTimeout: 1_000, headersTimeout: 900, checkInterval: 50 }

const setUp = async (t: Test, admin: ServiceOptions['admin'] = {}, held = gate()) => {
  const service = await startTestService(t, {
    openStore: openInThread,
    plugins: [thingsPlugin(held)],
    admin: { listen: { port: 0 }, ...admin },
  })
  const { port } = new URL(service.admin.address)
  return { ...service, port: Number(port) }
}

/** Everything a server says on a connection until it closes it. */
const everything = async (socket: Socket): Promise<string> => {
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  await once(socket, 'close')
  return text
}

const open = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  return socket
}

/** Response to a raw request on a connection of its own. */
const raw = async (port: number, text: string): Promise<string> => {
  const socket = await open(port)
  const response = everything(socket)
  socket.write(text)
  return response
}

const problemIn = (response: string) => {
  const [head = '', body = ''] = response.split('\r\n\r\n')
  return { head, status: Number(head.split(' ')[1]), json: body === '' ? undefined : JSON.parse(body) }
}

t.test('a unix socket is created for its owner only, and a stale one is replaced', async (t) => {
  const socketPath = join(directoryFor(t), 'admin.sock')
  writeFileSync(socketPath, 'left behind')
  const service = await startTestService(t, {
    openStore: openInThread,
    plugins: [thingsPlugin()],
    admin: { listen: { socketPath } },
  })
  t.equal(service.admin.address, socketPath)
  t.equal(statSync(socketPath).mode & 0o777, 0o600)
  const sent = request({ socketPath, path: '/healthz', agent: false })
  sent.end()
  const [response] = await once(sent, 'response')
  t.equal(response.statusCode, 200)
  response.resume()
  await once(response, 'end')
  await service.admin.close()
  t.notOk(existsSync(socketPath), 'and removed at the end')
})

t.test('a request that is not HTTP gets the error shape, and the connection closes', async (t) => {
  const { port } = await setUp(t)
  const { head, status, json } = problemIn(await raw(port, 'GET /things\r\nbroken header\r\n\r\n'))
  t.equal(status, 400)
  t.match(json, { code: 'malformed', status: 400, detail: String })
  t.match(head, /content-type: application\/json; charset=utf-8/)
  t.match(head, /SVC-TRACE-ID: [0-9a-f]{32}\r\n/)
})

t.test('unknown methods get the responses of known ones: 405 with Allow, or 404', async (t) => {
  const { port } = await setUp(t)
  const say = async (line: string) => problemIn(await raw(port, `${line}\r\nhost: a\r\n\r\n`))
  const known = await say('BREW /things?a=b HTTP/1.1')
  t.match(known.json, {
    status: 405,
    detail: /POST, GET, HEAD/,
  })
  t.match(known.head, /^HTTP\/1\.1 405 Method Not Allowed\r\n[\s\S]*allow: POST, GET, HEAD/)
  const { head } = await say('BREW /things HTTP/1.1\r\nsvc-trace-id:  my id ')
  t.match(head, /\r\nSVC-TRACE-ID: my id\r\n/)
  t.match(await say('get /nothing HTTP/1.1'), { status: 404, json: { code: 'not_found', status: 404 } })
  t.match(await say('BREW the coffee HTTP/1.1'), { status: 400, json: { code: 'malformed' } })
})

t.test('an unknown Expect header is ignored', async (t) => {
  const { port } = await setUp(t)
  t.match(
    await raw(port, 'GET /things/x HTTP/1.1\r\nhost: a\r\nexpect: miracles\r\nconnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 [\s\S]*\{"input":\{"id":"x"\}\}/,
  )
})

t.test('headers above their limit are 431', async (t) => {
  const { port } = await setUp(t, { headerLimit: 2048 })
  const { status, json } = problemIn(
    await raw(port, `GET /things HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(4096)}\r\n\r\n`),
  )
  t.equal(status, 431)
  t.match(json, { code: 'headers_too_large', status: 431 })
})

t.test('a slow body is 408, and its connection is closed', async (t) => {
  const { port, call } = await setUp(t, SLOW_LIMITS)
  const { status, json } = problemIn(
    await raw(
      port,
      'POST /things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    ),
  )
  t.equal(status, 408)
  t.match(json, { code: 'request_timeout', status: 408 })
  t.equal((await call('GET', '/healthz')).status, 200)
})

t.test('a tenant may have few slow bodies; further ones are 408', async (t) => {
  const limits = { max: 3, afterMs: 50 }
  const service = await startTestService(t, {
    openStore: openInThread,
    admin: { listen: { port: 0 }, slowBodies: limits },
  })
  const { call, managementKey } = service
  const port = Number(new URL(service.admin.address).port)
  const head = `POST /applications HTTP/1.1\r\nhost: a\r\nsvc-api-key: ${managementKey}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n`
  const flood = async () => {
    const sockets = await Promise.all(Array.from({ length: 8 }, () => open(port)))
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
    })
    const rejected = new Set<Socket>()
    const enough = Promise.withResolvers<void>()
    for (const socket of sockets) {
      socket.once('data', (text) => {
        rejected.add(socket)
        t.match(problemIn(String(text)), { status: 408, json: { code: 'request_timeout' } })
        if (rejected.size === sockets.length - limits.max) enough.resolve()
      })
      socket.write(head)
    }
    await enough.promise
    return sockets.filter((socket) => !rejected.has(socket))
  }
  /** Status of the response on a connection that sends only this head, and stays open. */
  const responseTo = async (text: string) => {
    const socket = await open(port)
    t.teardown(() => socket.destroy())
    socket.write(text)
    const [received] = await once(socket, 'data')
    return problemIn(String(received)).status
  }
  for (const what of ['first', 'once these have come']) {
    const waiting = await flood()
    t.equal(waiting.length, limits.max, what)
    t.equal(
      await responseTo(head.replace('length: 2', 'length: 9999999')),
      413,
      'the response comes before the body is slow',
    )
    t.equal(await responseTo(head), 408, 'and a later request is limited as before')
    t.equal((await call('GET', '/healthz')).status, 200)
    for (const socket of waiting) {
      socket.removeAllListeners('data')
      socket.write('{}')
      const [text] = await once(socket, 'data')
      t.equal(problemIn(String(text)).status, 400, 'it is read')
    }
  }
})

t.test('slow headers are 408 too', async (t) => {
  const { port } = await setUp(t, SLOW_LIMITS)
  t.equal(problemIn(await raw(port, 'GET /things HTTP/1.1\r\nhost: a\r\nx: ')).status, 408)
})

t.test('a client that half-closes in the middle of a body affects only its own connection', async (t) => {
  const { port, call } = await setUp(t)
  const socket = await open(port)
  const response = everything(socket)
  socket.end(
    'POST /things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"name"',
  )
  t.match(await response, /^(HTTP\/1\.1 400 |$)/)
  t.equal((await call('GET', '/things')).status, 200)
})

t.test('a client that half-closes after the request still gets its response', async (t) => {
  const { port } = await setUp(t)
  const socket = await open(port)
  const response = everything(socket)
  socket.end('GET /things/half HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  t.match(await response, /^HTTP\/1\.1 200 [\s\S]*\{"input":\{"id":"half"\}\}/)
})

t.test('dots in a path are treated as any other id', async (t) => {
  const { port } = await setUp(t)
  const get = (path: string) => raw(port, `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
  t.match(await get('/things/%2e%2e'), /^HTTP\/1\.1 200 [\s\S]*\{"input":\{"id":"\.\."\}\}/)
  t.match(await get('/things/..'), /^HTTP\/1\.1 200 [\s\S]*\{"input":\{"id":"\.\."\}\}/)
})

t.test('a body above the limit is 413 at once, and its remaining bytes do not cause a reset', async (t) => {
  const { port } = await setUp(t, { bodyLimit: 1000 })
  const post = 'POST /things HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n'
  const part = 'x'.repeat(2000)
  for (const [begin, rest] of [
    [`${post}transfer-encoding: chunked\r\n\r\n7d0\r\n${part}\r\n`, '0\r\n\r\n'],
    [`${post}content-length: 4000\r\n\r\n${part}`, part],
  ] as const) {
    const socket = await open(port)
    socket.write(begin)
    const [first] = await once(socket, 'data')
    t.match(problemIn(String(first)), { status: 413, json: { code: 'too_large', status: 413 } })
    const response = everything(socket)
    socket.write(`${rest}GET /things/next HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
    t.match(await response, /^HTTP\/1\.1 200 [\s\S]*\{"input":\{"id":"next"\}\}/)
  }
})

t.test('the signal of a call aborts when its client disconnects', async (t) => {
  const held = gate()
  const { port } = await setUp(t, {}, held)
  const socket = await open(port)
  socket.on('error', () => {})
  socket.write('GET /wait HTTP/1.1\r\nhost: a\r\n\r\n')
  const signal = await held.entered
  t.equal(signal.aborted, false)
  socket.resetAndDestroy()
  await once(signal, 'abort')
  t.equal(signal.aborted, true)
})

t.test('closing lets requests in flight finish, and accepts no new ones', async (t) => {
  const held = gate()
  const { port, admin } = await setUp(t, {}, held)
  const waiting = raw(port, 'GET /wait HTTP/1.1\r\nhost: a\r\n\r\n')
  await held.entered
  const idle = await open(port)
  const idleClosed = everything(idle)
  const closed = admin.close()
  held.leave()
  t.match(await waiting, /^HTTP\/1\.1 200 [\s\S]*"waited"/)
  idle.end()
  await Promise.all([closed, idleClosed])
  const rejected = connect(port, '127.0.0.1')
  const [error] = await once(rejected, 'error')
  t.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED')
})

t.test('closing does not wait longer than the drain timeout', async (t) => {
  const held = gate()
  const { port, admin } = await setUp(t, { drainTimeout: 30 }, held)
  const waiting = raw(port, 'GET /wait HTTP/1.1\r\nhost: a\r\n\r\n')
  await held.entered
  await admin.close()
  t.equal(await waiting, '')
})
