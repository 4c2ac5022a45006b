import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createMessageWriter } from '../../../src/sandbox/child/message-writer.ts'
import { createFrameReader, type Frame } from '../../../src/sandbox/frames.ts'

/** Both ends of a unix socket, as a child and its parent have it, and the descriptor of the child's. */
const openStream = async (test: { teardown(end: () => void): void }) => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-speaker-'))
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

/** The next messages that the parent hears. */
const hear = async (parent: Socket, count: number): Promise<readonly Frame[]> => {
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
  const speaker = createMessageWriter(child, fd)
  speaker.write({ kind: 'lost', id: 1 })
  t.ok(speaker.hasPending)
  t.equal(child.bytesWritten, 0)
  speaker.write({ kind: 'unknown', id: 2 })
  speaker.flush()
  t.notOk(speaker.hasPending)
  t.equal(child.writableLength, 0, 'nothing waits in this process')
  t.same(
    (await hear(parent, 2)).map(({ header }) => header),
    [
      { kind: 'lost', id: 1 },
      { kind: 'unknown', id: 2 },
    ],
  )
})

t.test("messages above the stream's capacity wait in order", async (t) => {
  const { child, parent, fd } = await openStream(t)
  const speaker = createMessageWriter(child, fd)
  const ending = { kind: 'returned', empty: false } as const
  const body = 'x'.repeat(4_000_000)
  speaker.write({ kind: 'ended', id: 1, cpuMs: 0, ending, console: [], preparingMs: 0 }, body)
  t.notOk(speaker.hasPending, 'a large message is not held')
  t.ok(child.writableLength > 0, 'whoever is to enter sees that it has not gone')
  speaker.write({ kind: 'lost', id: 2 })
  speaker.flush()
  const [first, second] = await hear(parent, 2)
  t.equal(first?.body, body)
  t.same(second?.header, { kind: 'lost', id: 2 })
})
