import t from 'tap'
import { createFrameReader, encodeFrame, writeFrame } from '../../src/sandbox/frames.ts'

type Frame = Parameters<Parameters<typeof createFrameReader>[1]>[0]

const reading = (maxBytes = 1_000) => {
  const frames: Frame[] = []
  return { frames, read: createFrameReader(maxBytes, (frame) => frames.push(frame)) }
}

t.test('frames arrive complete however the stream is cut', async (t) => {
  const sent = [
    { header: { kind: 'a', n: 1 }, body: '' },
    { header: { kind: 'b', text: 'ä€😀' }, body: 'a body with ü and 😀' },
    { header: {}, body: 'x'.repeat(500) },
  ]
  const bytes = Buffer.concat(sent.map(({ header, body }) => encodeFrame(header, body)))
  for (const size of [1, 2, 7, 64, bytes.length]) {
    const { frames, read } = reading()
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size))
    t.same(frames, sent, `chunks of ${size}`)
  }
})

t.test('a frame above the limit is rejected before it has arrived', async (t) => {
  const { read, frames } = reading(100)
  t.throws(() => read(encodeFrame({}, 'x'.repeat(200)).subarray(0, 8)))
  t.same(frames, [])
})

t.test('a header longer than its frame, or not JSON, is rejected', async (t) => {
  const lying = Buffer.alloc(12)
  lying.writeUInt32BE(4, 0)
  lying.writeUInt32BE(5, 4)
  t.throws(() => reading().read(lying))
  const broken = encodeFrame({ a: 1 })
  broken.write('x', 8)
  t.throws(() => reading().read(broken))
})

t.test('frames are written in sequence where there is space, else nothing is written', async (t) => {
  const held = Buffer.alloc(100, 0xff)
  const first = writeFrame(held, 0, { a: 1 }, 'ä€😀')
  const end = writeFrame(held, first ?? 0, { b: 2 })
  const { frames, read } = reading()
  read(Buffer.from(held.subarray(0, end)))
  t.same(frames, [
    { header: { a: 1 }, body: 'ä€😀' },
    { header: { b: 2 }, body: '' },
  ])
  const before = Buffer.from(held)
  t.equal(writeFrame(held, end ?? 0, {}, 'x'.repeat(20)), undefined)
  t.same(held, before)
})
