import t from 'tap'
import { encodeBase58 } from '../../src/common/base58.ts'

t.test('bytes are encoded as by the vectors of draft-msporny-base58-03, section 5', async (t) => {
  for (const [bytes, text] of [
    [Buffer.from('Hello World!'), '2NEpo7TZRRrLZSi2U'],
    [
      Buffer.from('The quick brown fox jumps over the lazy dog.'),
      'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z',
    ],
    [Buffer.from('0000287fb4cd', 'hex'), '11233QC4'],
  ] as const)
    t.equal(encodeBase58(bytes), text)
})

t.test('borders are encoded as by the package bs58 6.0.0', async (t) => {
  for (const [bytes, text] of [
    ['', ''],
    ['00', '1'],
    ['ff', '5Q'],
    ['00000000', '1111'],
    ['01'.repeat(24), '6Jswqk47s9PUcyCc88MMVwzgvHN64KPN'],
    ['000102030405060708090a0b0c0d0e0f1011121314151617', '12D2adLM3UKy4Z4giRbReR6gjWrtsxoG'],
    ['00'.repeat(32), '1'.repeat(32)],
    ['ff'.repeat(32), 'JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG'],
  ] as const)
    t.equal(encodeBase58(Buffer.from(bytes, 'hex')), text)
})
