import t from 'tap'
import { MessageReader } from '../../src/ext-proc/grpc.ts'

const prefixed = (message: Buffer) => {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

t.test('messages are assembled from any chunks', (t) => {
  const messages = [Buffer.from('one'), Buffer.alloc(0), Buffer.alloc(300, 'x'), Buffer.from('four')]
  const bytes = Buffer.concat(messages.map(prefixed))
  for (const size of [1, 2, 3, 4, 5, 6, 7, 11, 64, 304, bytes.length]) {
    const found: Buffer[] = []
    const reader = new MessageReader(300, (message) => found.push(Buffer.from(message)))
    for (let at = 0; at < bytes.length; at += size) t.ok(reader.push(bytes.subarray(at, at + size)))
    t.same(found, messages, `in pieces of ${size}`)
    t.ok(reader.idle)
  }
  t.end()
})

t.test('the parser is idle between messages only', (t) => {
  const reader = new MessageReader(10, () => {})
  t.ok(reader.idle)
  reader.push(Buffer.from([0, 0, 0]))
  t.notOk(reader.idle)
  reader.push(Buffer.from([0, 2, 1]))
  t.notOk(reader.idle)
  reader.push(Buffer.from([2]))
  t.ok(reader.idle)
  t.end()
})

t.test('a message that is too long or compressed is rejected at its prefix', (t) => {
  const rejects = (...pieces: Buffer[]) => {
    const found: Buffer[] = []
    const reader = new MessageReader(10, (message) => found.push(message))
    const responses = pieces.map((piece) => reader.push(piece))
    t.same(found, [])
    return responses
  }
  t.same(rejects(Buffer.from([0, 0, 0, 0, 11])), [false])
  t.same(rejects(Buffer.from([0, 0xff, 0xff]), Buffer.from([0xff, 0xff])), [true, false])
  t.same(rejects(Buffer.from([1, 0, 0, 0, 1, 65])), [false])
  t.end()
})
