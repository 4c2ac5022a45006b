import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client, type ClientDuplexStream, credentials, status } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import type { Call, CallHandler } from '../../src/ext-proc/call.ts'
import { createFrameReader, FRAME, frame, settingsFrame } from '../../src/ext-proc/frames.ts'
import { listen } from '../../src/ext-proc/listen.ts'

/** RFC 9113 §3.4. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

interface Seen {
  readonly messages: Buffer[]
  ended: number
  gone: number
}

type Behaviour = (call: Call, seen: Seen) => Partial<CallHandler>

const echo: Behaviour = (call) => ({ message: (message) => call.send(message), end: () => call.end() })

const start = async (
  t: Test,
  behaviour: Behaviour = echo,
  limits: { calls?: number; messageBytes?: number } = {},
) => {
  // A socket's path is short; those of test directories are not.
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-transport-'))
  const socketPath = join(directory, 's')
  const seen: Seen = { messages: [], ended: 0, gone: 0 }
  const listener = await listen(
    socketPath,
    (call) => {
      const own = behaviour(call, seen)
      return {
        message: (message) => {
          seen.messages.push(message)
          own.message?.(message)
        },
        drained: () => own.drained?.(),
        end: () => {
          seen.ended++
          own.end?.()
        },
        gone: () => {
          seen.gone++
          own.gone?.()
        },
      }
    },
    { calls: 100, messageBytes: 16 * 1024 * 1024, ...limits },
  )
  t.teardown(async () => {
    await listener.close(0)
    rmSync(directory, { recursive: true })
  })
  return { socketPath, seen, listener }
}

/** grpc-js, to which any server of gRPC must look the same. */
const grpcClient = (t: Test, socketPath: string) => {
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
  })
  t.teardown(() => client.close())
  const same = (bytes: Buffer) => bytes
  return () => client.makeBidiStreamRequest<Buffer, Buffer>('/a.B/C', same, same)
}

const statusOf = (stream: ClientDuplexStream<Buffer, Buffer>): Promise<number> =>
  new Promise((resolve) => {
    stream.on('data', () => {})
    stream.on('error', () => {})
    stream.on('status', ({ code }) => resolve(code))
  })

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

t.test('a gRPC client gets its messages echoed, and a clean end after its own', async (t) => {
  const { socketPath, seen } = await start(t)
  const open = grpcClient(t, socketPath)
  await Promise.all(
    [0, 1, 100, 20_000, 70_000].map(async (size) => {
      const stream = open()
      const message = Buffer.alloc(size, 'x')
      const responses: Buffer[] = []
      stream.on('data', (response: Buffer) => responses.push(response))
      stream.write(message)
      stream.write(Buffer.from('two'))
      stream.end()
      t.equal(await statusOf(stream), status.OK)
      t.ok(
        responses.length === 2 && responses[0]?.equals(message) && responses[1]?.equals(Buffer.from('two')),
        `${size}`,
      )
    }),
  )
  t.match(seen, { ended: 5, gone: 0 })
})

t.test('a message larger than the window passes both ways, on several calls at once', async (t) => {
  const { socketPath } = await start(t)
  const open = grpcClient(t, socketPath)
  await Promise.all(
    ['a', 'b', 'c'].map(async (letter) => {
      const stream = open()
      const message = Buffer.alloc(9_000_000, `${letter}0123456789`)
      stream.write(message)
      const [response] = (await once(stream, 'data')) as [Buffer]
      t.ok(response.equals(message))
      stream.end()
      t.equal(await statusOf(stream), status.OK)
    }),
  )
})

const MIB = 1024 * 1024

t.test('a paused call gets no more than its window, and the rest once it resumes', async (t) => {
  const calls: Call[] = []
  const { socketPath, seen } = await start(t, (call) => {
    calls.push(call)
    call.pause()
    return {}
  })
  const open = grpcClient(t, socketPath)
  const stream = open()
  const message = Buffer.alloc(65_536)
  for (let sent = 0; sent < 64; sent++) stream.write(message)
  const other = open()
  await until(() => calls.length === 2)
  calls[1]?.resume()
  for (let sent = 0; sent < 64; sent++) other.write(message)
  await until(() => seen.messages.length >= 64 + 3)
  t.ok(seen.messages.length <= 64 + 4, 'the other call is not held up, this one stands still')
  calls[0]?.resume()
  await until(() => seen.messages.length === 128)
  for (const each of [stream, other]) {
    each.on('error', () => {})
    each.cancel()
  }
})

t.test('a call reports backpressure of its peer, and when it drained', async (t) => {
  let written = 0
  let drained = 0
  const { socketPath } = await start(t, (call) => {
    const write = () => {
      while (written < 32 * MIB) {
        written += 65_536
        if (!call.send(Buffer.alloc(65_536))) return
      }
    }
    return {
      message: write,
      drained: () => {
        drained++
        write()
      },
    }
  })
  const session = connectHttp2('http://x', { createConnection: () => connect(socketPath) })
  t.teardown(() => session.destroy())
  const stream = session.request({ ':method': 'POST' })
  stream.on('error', () => {})
  stream.write(Buffer.from([0, 0, 0, 0, 0]))
  await until(() => written > 0)
  await promisify(session.ping).call(session)
  t.ok(written <= 4 * 65_536, `${written}`)
  let read = 0
  stream.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  await until(() => read === ((32 * MIB) / 65_536) * (65_536 + 5))
  t.ok(drained > 0)
})

t.test('a reset call is an error to a gRPC client, whatever was sent before', async (t) => {
  const { socketPath, seen } = await start(t, (call) => ({
    message: (message) => {
      if (message.length > 0) call.send(message)
      call.reset()
      call.send(message)
      call.end()
    },
  }))
  const open = grpcClient(t, socketPath)
  for (const text of ['', 'some']) {
    const stream = open()
    stream.write(Buffer.from(text))
    t.equal(await statusOf(stream), status.INTERNAL)
  }
  t.match(seen, { ended: 0, gone: 0 })
})

t.test('a message that is too long resets its call, not the connection', async (t) => {
  const { socketPath, seen } = await start(t, echo, { messageBytes: 10 })
  const open = grpcClient(t, socketPath)
  const long = open()
  long.write(Buffer.alloc(11))
  t.equal(await statusOf(long), status.INTERNAL)
  t.match(seen, { messages: [], ended: 0, gone: 1 })
  const next = open()
  next.end(Buffer.alloc(10))
  t.equal(await statusOf(next), status.OK)
})

t.test('a call cancelled by the client is gone, and later messages to it are dropped', async (t) => {
  const calls: Call[] = []
  const { socketPath, seen } = await start(t, (call) => {
    calls.push(call)
    return {}
  })
  const open = grpcClient(t, socketPath)
  const stream = open()
  stream.write(Buffer.from('x'))
  await until(() => seen.messages.length === 1)
  const ended = statusOf(stream)
  stream.cancel()
  t.equal(await ended, status.CANCELLED)
  await until(() => seen.gone === 1)
  calls[0]?.send(Buffer.from('late'))
  calls[0]?.end()
  calls[0]?.reset()
  const next = open()
  next.on('error', () => {})
  next.write(Buffer.from('y'))
  await until(() => seen.messages.length === 2)
  next.cancel()
  await until(() => seen.gone === 2)
})

t.test('thousands of calls reset by their client leave the connection open', async (t) => {
  const { socketPath } = await start(t)
  const session = connectHttp2('http://x', { createConnection: () => connect(socketPath) })
  t.teardown(() => session.destroy())
  let closed = false
  session.on('close', () => {
    closed = true
  })
  for (let round = 0; round < 100; round++)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const stream = session.request({ ':method': 'POST' })
        stream.on('error', () => {})
        stream.write(Buffer.from([0, 0, 0, 0, 1, 65]))
        await once(stream, 'data')
        stream.close(constants.NGHTTP2_CANCEL)
      }),
    )
  t.notOk(closed)
})

const http2 = async (t: Test, socketPath: string): Promise<ClientHttp2Session> => {
  const session = connectHttp2('http://x', { createConnection: () => connect(socketPath) })
  session.on('error', () => {})
  t.teardown(() => session.destroy())
  await once(session, 'remoteSettings')
  return session
}

t.test('headers of any size and trailers are accepted, and pings acknowledged', async (t) => {
  const { socketPath, seen } = await start(t)
  const session = await http2(t, socketPath)
  const stream = session.request(
    { ':method': 'POST', 'x-long': 'x'.repeat(40_000) },
    { waitForTrailers: true },
  )
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': '1' }))
  stream.on('data', () => {})
  stream.end(Buffer.from([0, 0, 0, 0, 1, 65]))
  const [trailers] = await once(stream, 'trailers')
  t.equal(trailers['grpc-status'], '0')
  t.match(seen, { ended: 1, gone: 0 })
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  session.ping(Buffer.from('12345678'), (error, _ms, payload) => (error ? reject(error) : resolve(payload)))
  t.equal((await promise).toString(), '12345678')
})

t.test('a stream that ends inside a message is reset', async (t) => {
  const { socketPath, seen } = await start(t)
  const session = await http2(t, socketPath)
  const stream = session.request({ ':method': 'POST' })
  stream.end(Buffer.from([0, 0, 0, 0, 2, 65]))
  const [error] = await once(stream, 'error')
  t.match(error.message, /NGHTTP2_INTERNAL_ERROR/)
  t.match(seen, { ended: 0, gone: 1, messages: [] })
})

t.test('calls above the limit are rejected, and slots are released', async (t) => {
  const { socketPath, seen } = await start(t, () => ({}), { calls: 2 })
  const client = await raw(socketPath)
  client.send(open(1), open(3), open(5))
  const [type, , id, payload] = await client.next(FRAME.resetStream)
  t.same([type, id, payload], [FRAME.resetStream, 5, Buffer.from([0, 0, 0, 7])])
  client.send(frame(FRAME.resetStream, 0, 1, Buffer.alloc(4)), open(7), data(7, 'A'))
  await until(() => seen.messages.length === 1)
  client.socket.destroy()
  await until(() => seen.gone === 3)
})

t.test('sent data waits for the flow-control windows of the peer, also for ones reduced later', async (t) => {
  const { socketPath } = await start(t)
  const client = await raw(socketPath, [[4, 10]])
  client.send(open(1), data(1, 'x'.repeat(30)))
  t.equal((await client.next(FRAME.data))[3].length, 10)
  client.send(settingsFrame([[4, 3]]), windowUpdate(1, 12))
  t.equal((await client.next(FRAME.data))[3].length, 5, '10 - 10 + (3 - 10) + 12')
  client.send(settingsFrame([[4, 1000]]))
  t.equal((await client.next(FRAME.data))[3].length, 20)
  client.send(open(3), data(3, 'y'.repeat(80)))
  t.equal((await client.next(FRAME.data))[3].length, 85)
  client.socket.destroy()
})

t.test('a drain lets open calls finish, accepts those already sent, and then closes', async (t) => {
  const { socketPath, listener, seen } = await start(t)
  const client = await raw(socketPath)
  client.send(open(1))
  client.send(frame(FRAME.ping, 0, 0, Buffer.from('abcdefgh')))
  await client.next(FRAME.ping)
  const closed = listener.close(60_000)
  t.equal((await client.next(FRAME.goAway))[3].readUInt32BE(0), 0x7fff_ffff)
  const [, , , ping] = await client.next(FRAME.ping)
  client.send(open(3), frame(FRAME.ping, 1, 0, ping))
  t.equal((await client.next(FRAME.goAway))[3].readUInt32BE(0), 3)
  client.send(open(5))
  t.equal((await client.next(FRAME.resetStream))[2], 5)
  client.send(data(1, 'A'), data(3, 'B'))
  await client.next(FRAME.data)
  await client.next(FRAME.data)
  client.send(frame(FRAME.data, 1, 1, Buffer.alloc(0)), frame(FRAME.data, 1, 3, Buffer.alloc(0)))
  await once(client.socket, 'end')
  client.socket.destroy()
  await closed
  t.match(seen, { ended: 2, gone: 0 })
})

t.test('a drain without calls closes at once, and one that exceeds its timeout is aborted', async (t) => {
  const idle = await start(t)
  const session = await http2(t, idle.socketPath)
  await Promise.all([idle.listener.close(60_000), once(session, 'close')])
  const busy = await start(t, () => ({}))
  const other = await http2(t, busy.socketPath)
  const stream = other.request({ ':method': 'POST' })
  stream.on('error', () => {})
  stream.write(Buffer.from([0, 0, 0, 0, 1, 65]))
  await until(() => busy.seen.messages.length === 1)
  await busy.listener.close(10)
  t.equal(busy.seen.gone, 1)
})

type Frame = readonly [type: number, flags: number, stream: number, payload: Buffer]

/** A client that sends exactly the given frames. */
const raw = async (socketPath: string, settings: readonly (readonly [number, number])[] = []) => {
  const socket = connect(socketPath)
  await once(socket, 'connect')
  const frames: Frame[] = []
  let closed = false
  const reader = createFrameReader((type, flags, stream, payload) =>
    frames.push([type, flags, stream, Buffer.from(payload)]),
  )
  // The reader is a server's, and waits for a client's preface.
  reader.push(PREFACE)
  socket.on('data', (chunk) => reader.push(chunk as Buffer))
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
  })
  const send = (...bytes: readonly Buffer[]) => socket.write(Buffer.concat(bytes))
  send(PREFACE, settingsFrame(settings))
  return {
    socket: socket as Socket,
    send,
    /** The next frame of one of these types; others are dropped. Throws when the connection closes first. */
    next: async (...types: readonly number[]): Promise<Frame> => {
      await until(() => closed || frames.some(([found]) => types.includes(found)))
      const at = frames.findIndex(([found]) => types.includes(found))
      if (at < 0) throw new Error('the connection was closed')
      const [found] = frames.splice(0, at + 1).slice(-1)
      return found as Frame
    },
  }
}

const open = (id: number) => frame(FRAME.headers, 4, id, Buffer.from([0x83]))
const data = (id: number, text: string, flags = 0) => {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(text.length, 1)
  return frame(FRAME.data, flags, id, Buffer.concat([prefix, Buffer.from(text)]))
}
const windowUpdate = (id: number, bytes: number) => {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(bytes)
  return frame(FRAME.windowUpdate, 0, id, payload)
}

t.test('a call that is ended and reset at once gets no more frames', async (t) => {
  const { socketPath, seen } = await start(t)
  const client = await raw(socketPath)
  client.send(
    open(1),
    frame(FRAME.data, 1, 1, Buffer.alloc(0)),
    frame(FRAME.resetStream, 0, 1, Buffer.alloc(4)),
  )
  client.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)))
  t.same((await client.next(FRAME.ping, FRAME.headers))[0], FRAME.ping)
  t.match(seen, { ended: 0, gone: 1 })
  client.socket.destroy()
})

t.test('padding and priorities are ignored', async (t) => {
  const { socketPath, seen } = await start(t)
  const client = await raw(socketPath)
  client.send(
    frame(FRAME.priority, 0, 1, Buffer.alloc(5)),
    frame(0xfa, 0xff, 9, Buffer.from('unknown')),
    frame(FRAME.headers, 0x2c, 1, Buffer.from([2, 0, 0, 0, 0, 1, 0x83, 0, 0])),
    frame(FRAME.data, 8, 1, Buffer.from([3, 0, 0, 0, 0, 1, 65, 0, 0, 0])),
  )
  await until(() => seen.messages.length === 1)
  t.same(seen.messages, [Buffer.from('A')])
  client.socket.destroy()
})

const settingsOf = (setting: number, value: number) => settingsFrame([[setting, value]])
const long = Buffer.alloc(16_385)

for (const [name, [code, ...frames]] of Object.entries<readonly [number, ...Buffer[]]>({
  'a stream of a server': [1, open(2)],
  'stream zero': [1, open(0)],
  'data of a stream not opened': [1, data(1, 'A')],
  'data of stream zero': [1, open(1), data(0, 'A')],
  'a reset of a stream not opened': [1, frame(FRAME.resetStream, 0, 1, Buffer.alloc(4))],
  'a reset of the wrong size': [6, open(1), frame(FRAME.resetStream, 0, 1, Buffer.alloc(3))],
  'settings of a stream': [1, frame(FRAME.settings, 0, 1, Buffer.alloc(0))],
  'settings of the wrong size': [6, frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
  'settings acknowledged with settings': [6, frame(FRAME.settings, 1, 0, Buffer.alloc(6))],
  'a window that is too large': [3, settingsOf(4, 0x8000_0000)],
  'a window made too large': [3, windowUpdate(0, 0x7fff_ffff)],
  'a window of a stream made too large': [3, open(1), windowUpdate(1, 0x7fff_ffff)],
  'a window update of nothing': [1, windowUpdate(0, 0)],
  'a window update of the wrong size': [6, frame(FRAME.windowUpdate, 0, 0, Buffer.alloc(5))],
  'a window of a stream not opened': [1, windowUpdate(1, 1)],
  'a ping of a stream': [1, frame(FRAME.ping, 0, 1, Buffer.alloc(8))],
  'a ping of the wrong size': [6, frame(FRAME.ping, 0, 0, Buffer.alloc(7))],
  'a push': [1, frame(FRAME.pushPromise, 4, 1, Buffer.alloc(4))],
  'a continuation of nothing': [1, frame(FRAME.continuation, 4, 1, Buffer.alloc(1))],
  'an interrupted header block': [1, frame(FRAME.headers, 0, 1, Buffer.alloc(1)), data(1, 'A')],
  'a header block continued on another stream': [
    1,
    frame(FRAME.headers, 0, 1, Buffer.alloc(1)),
    frame(FRAME.continuation, 4, 3, Buffer.alloc(1)),
  ],
  'a header block without end': [
    11,
    frame(FRAME.headers, 0, 1, Buffer.alloc(16_000)),
    ...Array.from({ length: 5 }, () => frame(FRAME.continuation, 0, 1, Buffer.alloc(16_000))),
  ],
  'padding longer than its frame': [1, open(1), frame(FRAME.data, 8, 1, Buffer.from([1]))],
  'padding without a length': [1, open(1), frame(FRAME.data, 8, 1, Buffer.alloc(0))],
  'a frame that is too large': [6, open(1), frame(FRAME.data, 0, 1, long)],
}))
  t.test(`${name} ends the connection`, async (t) => {
    const { socketPath, seen } = await start(t)
    const client = await raw(socketPath)
    client.send(...frames)
    const [, , , payload] = await client.next(FRAME.goAway)
    t.equal(payload.readUInt32BE(4), code)
    await once(client.socket, 'close')
    t.match(seen, { messages: [], ended: 0 })
  })

t.test('a window is extended before the peer has used it up', async (t) => {
  const { socketPath } = await start(t, () => ({}))
  const client = await raw(socketPath)
  t.equal((await client.next(FRAME.settings))[3].readUInt32BE(8), 262_144)
  t.equal((await client.next(FRAME.windowUpdate))[3].readUInt32BE(0), 16_777_216 - 65_535)
  const full = frame(
    FRAME.data,
    0,
    1,
    Buffer.concat([Buffer.from([0, 0, 0xff, 0xff, 0xff]), Buffer.alloc(16_379)]),
  )
  client.send(open(1), full, ...Array.from({ length: 15 }, () => full))
  const [, , id, payload] = await client.next(FRAME.windowUpdate)
  t.same([id, payload.readUInt32BE(0)], [1, 9 * 16_384])
  for (let stream = 3; stream < 129; stream += 2)
    client.send(
      open(stream),
      ...Array.from({ length: 8 }, () => frame(FRAME.data, 0, stream, full.subarray(9))),
    )
  const [, , connection, more] = await client.next(FRAME.windowUpdate)
  t.same([connection, more.readUInt32BE(0)], [0, 513 * 16_384])
  client.socket.destroy()
})

t.test('a connection that is not HTTP/2 is rejected', async (t) => {
  const { socketPath } = await start(t)
  for (const text of ['GET / HTTP/1.1\r\n\r\n', `${PREFACE.toString().slice(0, 20)}XXXX`]) {
    const socket = connect(socketPath)
    socket.resume()
    socket.write(text.slice(0, 10))
    socket.write(text.slice(10))
    await once(socket, 'close')
  }
  const socket = connect(socketPath)
  socket.resume()
  socket.write(Buffer.concat([PREFACE, open(1)]))
  await once(socket, 'close')
  t.pass('also without SETTINGS first')
})

t.test('bytes that arrive one by one are parsed the same', async (t) => {
  const { socketPath, seen } = await start(t)
  const client = await raw(socketPath)
  for (const byte of Buffer.concat([open(1), data(1, 'AB')])) {
    client.socket.write(Buffer.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await until(() => seen.messages.length === 1)
  t.same(seen.messages, [Buffer.from('AB')])
  client.socket.destroy()
})
