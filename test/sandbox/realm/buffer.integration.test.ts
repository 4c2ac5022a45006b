import t from 'tap'
import { sameAsNode } from './kit.ts'

sameAsNode(t, 'texts are encoded and decoded in every encoding', () => {
  const bytes = Buffer.from('héllo 😀 ÿ')
  const encodings: BufferEncoding[] = [
    'utf8',
    'hex',
    'base64',
    'base64url',
    'latin1',
    'binary',
    'utf16le',
    'ascii',
  ]
  return encodings.map((encoding) => {
    const text = bytes.toString(encoding)
    return [
      text,
      Buffer.from(text, encoding).toString('hex'),
      Buffer.byteLength(text, encoding),
      Buffer.isEncoding(encoding),
    ]
  })
})

sameAsNode(t, 'base64 is read with and without padding and of both alphabets', () =>
  ['4oKs', '-_8', '+/8=', 'YQ', 'YQ==', 'Y Q\n=='].map((text) => [
    Buffer.from(text, 'base64').toString('hex'),
    Buffer.from(text, 'base64url').toString('hex'),
  ]),
)

sameAsNode(t, 'bytes are joined, cut, compared, filled and searched', () => {
  const bytes = Buffer.concat([Buffer.from('abc'), Buffer.alloc(2, 'x'), new Uint8Array([1, 255])])
  return [
    bytes.toJSON(),
    bytes.subarray(1, 3).toString(),
    bytes.slice(-2).readUInt16BE(0),
    bytes.indexOf('cx'),
    bytes.includes('zz'),
    bytes.equals(Buffer.from(bytes)),
    bytes.equals(new Uint8Array([1])),
    Buffer.compare(Buffer.from('a'), Buffer.from('b')),
    Buffer.isBuffer(bytes),
    Buffer.isBuffer(new Uint8Array(1)),
    Buffer.from(new Uint8Array([1, 2, 3]).buffer, 1, 1).length,
    [...Buffer.from('ab').entries()],
    Buffer.from('zz', 'hex').length,
    bytes.readInt32LE(0),
    bytes.swap16 !== undefined,
  ]
})

sameAsNode(t, 'numbers are written and read', () => {
  const bytes = Buffer.alloc(24)
  bytes.writeUInt32BE(0xdeadbeef, 0)
  bytes.writeDoubleLE(1.5, 4)
  bytes.writeBigInt64BE(-5n, 12)
  bytes.write('hé', 20, 'latin1')
  return [
    bytes.toString('hex'),
    bytes.readDoubleLE(4),
    String(bytes.readBigInt64BE(12)),
    bytes.readUIntBE(0, 3),
  ]
})

sameAsNode(t, 'atob and btoa', () => {
  const attempt = (run: () => string) => {
    try {
      return run()
    } catch (error) {
      return (error as Error).name
    }
  }
  return [
    atob('aGk='),
    atob(' a G k '),
    atob('aGk'),
    btoa('hé'),
    attempt(() => atob('a')),
    attempt(() => atob('a-b_')),
    attempt(() => btoa('€')),
  ]
})

sameAsNode(t, 'the module and the global are the same', () => [
  require('buffer').Buffer === Buffer,
  require('node:buffer').Buffer === Buffer,
])

sameAsNode(t, 'TextEncoder and TextDecoder', () => {
  const decoder = new TextDecoder()
  const fatal = () => {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff]))
    } catch (error) {
      return [(error as Error).name, (error as { code?: string }).code]
    }
  }
  return [
    [...new TextEncoder().encode('€ü😀')],
    new TextEncoder().encodeInto('aé', new Uint8Array(2)),
    new TextDecoder().decode(new TextEncoder().encode('€ü😀')),
    new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97, 0xff])),
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf, 97])).length,
    new TextDecoder('latin1').decode(new Uint8Array([0xe9, 0x80])),
    new TextDecoder('utf-16le').decode(new Uint8Array([97, 0])),
    decoder.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + decoder.decode(new Uint8Array([0xac])),
    fatal(),
  ]
})

sameAsNode(t, 'long texts and malformed ones', () => {
  const long = `${'abcdefghi é😀\0'.repeat(500)}\ud800`
  const bytes = Buffer.from(long)
  const encodings: BufferEncoding[] = ['utf8', 'hex', 'base64', 'base64url', 'latin1', 'utf16le', 'ascii']
  return [
    bytes.length,
    encodings.map((encoding) => Buffer.from(bytes.toString(encoding), encoding).toString('base64')),
    bytes.toString('utf8', 3, 2000),
    [
      [0xe2, 0x82],
      [0xff, 97],
      [0xf0, 0x9f, 0x98, 0xe2, 0x82],
      [0xed, 0xa0, 0x80],
    ].map((each) => Buffer.from(each).toString()),
  ]
})
