import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import t from 'tap'
import { subkey } from '../../src/keys/wrap.ts'

const hex = (text: string): Buffer => Buffer.from(text, 'hex')

/** McGrew, Viega: The Galois/Counter Mode of Operation, appendix B, test cases 13–16 (256-bit keys, 96-bit IVs). */
const KEY = 'feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308'
const TEXT =
  'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255'
const SEALED =
  '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad'
const GCM = [
  {
    key: '00'.repeat(32),
    iv: '00'.repeat(12),
    text: '',
    data: '',
    sealed: '',
    tag: '530f8afbc74536b9a963b4f1c4cb738b',
  },
  {
    key: '00'.repeat(32),
    iv: '00'.repeat(12),
    text: '00'.repeat(16),
    data: '',
    sealed: 'cea7403d4d606b6e074ec5d3baf39d18',
    tag: 'd0d1c8a799996bf0265b98b5d48ab919',
  },
  {
    key: KEY,
    iv: 'cafebabefacedbaddecaf888',
    text: TEXT,
    data: '',
    sealed: SEALED,
    tag: 'b094dac5d93471bdec1a502270e3cc6c',
  },
  {
    key: KEY,
    iv: 'cafebabefacedbaddecaf888',
    text: TEXT.slice(0, -8),
    data: 'feedfacedeadbeeffeedfacedeadbeefabaddad2',
    sealed: SEALED.slice(0, -8),
    tag: '76fc6ece0f4e1768cddf8853bb2d551b',
  },
]

t.test('AES-256-GCM passes the published test cases', async (t) => {
  for (const { key, iv, text, data, sealed, tag } of GCM) {
    const cipher = createCipheriv('aes-256-gcm', hex(key), hex(iv), { authTagLength: 16 })
    cipher.setAAD(hex(data))
    t.equal(Buffer.concat([cipher.update(hex(text)), cipher.final()]).toString('hex'), sealed)
    t.equal(cipher.getAuthTag().toString('hex'), tag)
    const decipher = createDecipheriv('aes-256-gcm', hex(key), hex(iv), { authTagLength: 16 })
    decipher.setAAD(hex(data))
    decipher.setAuthTag(hex(tag))
    t.equal(Buffer.concat([decipher.update(hex(sealed)), decipher.final()]).toString('hex'), text)
  }
})

const hmac = (key: Buffer, ...data: readonly Buffer[]): Buffer =>
  createHmac('sha256', key).update(Buffer.concat(data)).digest()

t.test('HMAC-SHA256 passes RFC 4231, test cases 1–4 and 6', async (t) => {
  const cases = [
    ['0b'.repeat(20), '4869205468657265', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
    [
      '4a656665',
      '7768617420646f2079612077616e7420666f72206e6f7468696e673f',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    ['aa'.repeat(20), 'dd'.repeat(50), '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe'],
    [
      '0102030405060708090a0b0c0d0e0f10111213141516171819',
      'cd'.repeat(50),
      '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
    ],
    [
      'aa'.repeat(131),
      '54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374',
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    ],
  ] as const
  for (const [key, data, digest] of cases) t.equal(hmac(hex(key), hex(data)).toString('hex'), digest)
})

/** RFC 5869 §2 as it is written, for one block of output and no salt. */
const hkdf = (secret: Buffer, info: Buffer): Buffer =>
  hmac(hmac(Buffer.alloc(32), secret), info, Buffer.of(1))

t.test('subkeys are derived by HKDF-SHA256 as in RFC 5869', async (t) => {
  const published = '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d'
  t.equal(hkdf(hex('0b'.repeat(22)), Buffer.alloc(0)).toString('hex'), published, 'test case 3')
  const secret = hex('01'.repeat(32))
  t.same(subkey(secret, 'wrap'), hkdf(secret, Buffer.from('sidevault wrap')))
  t.notSame(subkey(secret, 'wrap'), subkey(secret, 'fingerprint'))
})
