import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createMessageWriter } from '../../../src/sandbox/child/message-writer.ts'
import { createFrameReader } from '../../../src/sandbox/frames.ts'

type Frame = Parameters<Parameters<typeof createFrameReader>[1]>[0]

/** Both ends of a unix socket, as a child and its parent have it, and the descriptor of the child's. */
const openStream = async (test: { teardown(end: () => void): void }) => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-writer-'))
  const path = join(directory, 'child.sock')
  const server = createServer({ pauseOnConnect: true }).listen(path)
  await once(server, 'listening')
  const child = connect(path)
  const [parent]: Socket[] = (await once(server, 'connection')) as [Socket]
  if (child.connecting) await once(child, 'connect')
  test.teardown(() => {
    child.destroy()
    parent?.destroy()
    server.close()
    rmSync(directory, { recursive: true })
  })
  const { fd } = (child as unknown as { readonly _handle: { readonly fd: number } })._handle
  return { child, parent: parent as Socket, fd }
}

/** The next messages that the parent receives. */
const receive = async (parent: Socket, count: number): Promise<readonly Frame[]> => {
  const frames: Frame[] = []
  const all = Promise.withResolvers<void>()
  const read = createFrameReader(2 ** 24, (frame) => {
    frames.push(frame)
    if (frames.length === count) all.resolve()
  })
  parent.on('data', read)
  parent.resume()
  await all.promise
  return frames
}

t.test('messages are buffered until they are flushed, and arrive in order', async (t) => {
  const { child, parent, fd } = await openStream(t)
  const writer = createMessageWriter(child, fd)
  writer.write({ kind: 'lost', id: 1 })
  t.ok(writer.hasPending)
  t.equal(child.bytesWritten, 0)
  writer.write({ kind: 'unknown', id: 2 })
  writer.flush()
  t.notOk(writer.hasPending)
  t.equal(child.writableLength, 0, 'nothing waits in this process')
  t.same(
    (await receive(parent, 2)).map(({ header }) => header),
    [
      { kind: 'lost', id: 1 },
      { kind: 'unknown', id: 2 },
    ],
  )
})

t.test("messages above the stream's capacity wait in order", async (t) => {
  const { child, parent, fd } = await openStream(t)
  const writer = createMessageWriter(child, fd)
  const ending = { kind: 'returned', empty: false } as const
  const body = 'x'.repeat(4_000_000)
  writer.write({ kind: 'ended', id: 1, cpuMs: 0, ending, console: [], preparingMs: 0 }, body)
  t.notOk(writer.hasPending, 'a large message is not buffered')
  t.ok(child.writableLength > 0, 'the stream shows that it is not sent')
  writer.write({ kind: 'lost', id: 2 })
  writer.flush()
  const [first, second] = await receive(parent, 2)
  t.equal(first?.body, body)
  t.same(second?.header, { kind: 'lost', id: 2 })
})
