import t from 'tap'
import { Reader, WireError, Writer } from '../../src/ext-proc/protobuf.ts'

const reader = (hex: string) => new Reader(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

t.test('fields are read in order, whatever their type, and unread ones are skipped', (t) => {
  const fields = reader(
    '0801 1202 6869 1d 01020304 21 0102030405060708 2a03 0a0161 3000 b80101 fa01 0141 08ffffffffffffffffff01',
  )
  t.equal(fields.next(), 1)
  t.equal(fields.bool(), true)
  t.equal(fields.next(), 2)
  t.equal(fields.latin1(), 'hi')
  for (const field of [3, 4]) {
    t.equal(fields.next(), field)
    fields.skip()
  }
  t.equal(fields.next(), 5)
  const outer = fields.enter()
  t.equal(fields.next(), 1)
  t.equal(fields.latin1(), 'a')
  t.equal(fields.next(), 0)
  fields.leave(outer)
  t.equal(fields.next(), 6)
  t.equal(fields.bool(), false)
  t.equal(fields.next(), 23)
  fields.skip()
  t.equal(fields.next(), 31)
  t.same(fields.bytes(), Buffer.from('A'))
  t.equal(fields.next(), 1)
  fields.skip()
  t.equal(fields.next(), 0)
  t.equal(fields.next(), 0)
  t.end()
})

t.test('malformed messages are rejected', (t) => {
  const readAll = (hex: string) => {
    const fields = reader(hex)
    while (fields.next() !== 0) fields.skip()
  }
  for (const [name, hex] of Object.entries({
    'a cut tag': '80',
    'a cut number': '08 80',
    'a number of eleven bytes': '08 ffffffffffffffffffff01',
    'a tag beyond 32 bits': 'ffffffff7f',
    'field zero': '00 01',
    'a text longer than its message': '0a 02 61',
    'a length beyond 32 bits': '0a ffffffffff01',
    'a cut fixed32': '0d 000000',
    'a cut fixed64': '09 00000000000000',
    'a group': '0b 0c',
    'a reserved type': '0f',
  }))
    t.throws(() => readAll(hex), WireError, name)
  const wrong = (read: (fields: Reader) => unknown, hex: string) => () => {
    const fields = reader(hex)
    fields.next()
    return read(fields)
  }
  t.throws(
    wrong((fields) => fields.bool(), '0a0161'),
    WireError,
    'a text for a flag',
  )
  t.throws(
    wrong((fields) => fields.bytes(), '0801'),
    WireError,
    'a number for bytes',
  )
  t.throws(
    wrong((fields) => fields.enter(), '0801'),
    WireError,
    'a number for a message',
  )
  t.throws(
    wrong((fields) => {
      fields.enter()
      fields.next()
      return fields.bytes()
    }, '0a020a01 61'),
    WireError,
    'a member longer than its message, though not than all',
  )
  t.end()
})

t.test('a writer grows, and writes lengths of one to five bytes', (t) => {
  for (const size of [0, 1, 127, 128, 16_383, 16_384, 3_000_000]) {
    const writer = new Writer(1)
    writer.varint(3, size)
    const end = writer.end()
    writer.bytes(2, Buffer.alloc(size, 'b'))
    writer.latin1(1, '\u00e9'.repeat(size))
    writer.start(2, end)
    const fields = new Reader(Buffer.concat(writer.pieces()))
    t.equal(fields.next(), 2)
    const outer = fields.enter()
    t.equal(fields.next(), 1)
    t.equal(fields.latin1(), '\u00e9'.repeat(size))
    t.equal(fields.next(), 2)
    t.ok(fields.bytes().equals(Buffer.alloc(size, 'b')))
    t.equal(fields.next(), 0)
    fields.leave(outer)
    t.equal(fields.next(), 3)
    t.equal(fields.bool(), size !== 0)
    t.equal(fields.next(), 0)
  }
  t.end()
})
