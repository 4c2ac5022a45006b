import { createDecipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createSealer, open, versionOf } from '../../src/keys/seal.ts'
import type { SealContext } from '../../src/keys/types.ts'

const rawKey = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const dataKey = createSecretKey(rawKey)
const keyOf = (version: number) => (version === 7 ? dataKey : undefined)
const context: SealContext = {
  tenantId: '0f9a8f4e-1f6c-4a6e-8d5a-3f0c6d2b7e11',
  tokenId: 'token-1',
  type: 'card',
  version: 3,
  part: 'sealed',
}
const seal = (version: number, plaintext: Buffer, under: SealContext): Buffer =>
  createSealer(dataKey, version)(plaintext, under)
const text = Buffer.from('{"data":{"number":"4242424242424242"}}')

const failureOf = (sealed: Buffer, under: SealContext): string => {
  try {
    open(keyOf, sealed, under)
  } catch (thrown) {
    return thrown instanceof AppError ? `${thrown.code} ${thrown.message}` : 'another error'
  }
  return 'opened'
}
const SAME_FAILURE = failureOf(Buffer.alloc(0), context)

t.test('a sealed value opens under the same binding, and is not readable', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const sealed = seal(7, Buffer.from(bytes), context)
      return open(keyOf, sealed, context).equals(bytes) && sealed.length === bytes.length + 49
    }),
    { numRuns: 200 },
  )
  t.notOk(seal(7, text, context).includes('4242'))
})

/** The format written out from its description, apart from the code that makes it. */
t.test('the format is fixed: a value sealed by an earlier release opens', async (t) => {
  const sealed = Buffer.from(
    '0100000007a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbffe665d06f2608baf4cce29f98ef227cdf57f89f0991144dc368f9167a05e9eaa586985c81b71134dc2ba762509cb15552e0ec6e9f2f',
    'hex',
  )
  t.equal(open(keyOf, sealed, context).toString(), text.toString())
  const random = Buffer.from(Array.from({ length: 28 }, (_, index) => 0xa0 + index))
  t.same(
    createSealer(dataKey, 7, (size) => (size === 16 ? random.subarray(0, 16) : random.subarray(16)))(
      text,
      context,
    ),
    sealed,
    'and is made the same way',
  )

  const part = (value: string) => {
    const head = Buffer.alloc(5)
    head.writeUInt32BE(Buffer.byteLength(value), 1)
    return Buffer.concat([head, Buffer.from(value)])
  }
  const salt = sealed.subarray(5, 21)
  const key = createHmac('sha256', rawKey)
    .update(Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from('sidevault seal\0'), salt]))
    .update(Buffer.from([0, 0, 1, 0]))
    .digest()
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(21, 33))
  decipher.setAAD(
    Buffer.concat([
      Buffer.from([1, 0, 0, 0, 7]),
      ...['seal', context.tenantId, 'token-1', 'card', '3', 'sealed'].map(part),
    ]),
  )
  decipher.setAuthTag(sealed.subarray(-16))
  const plain = Buffer.concat([decipher.update(sealed.subarray(33, -16)), decipher.final()])
  t.equal(plain.toString(), text.toString())
})

t.test('any flipped bit, cut or added byte fails, always with the same error', async (t) => {
  const sealed = seal(7, text, context)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const altered = Buffer.from(sealed)
    altered[bit >> 3]! ^= 1 << (bit & 7)
    if (failureOf(altered, context) !== SAME_FAILURE) t.fail(`bit ${bit}`)
  }
  for (let length = 0; length < sealed.length; length++)
    if (failureOf(sealed.subarray(0, length), context) !== SAME_FAILURE) t.fail(`cut to ${length}`)
  t.equal(failureOf(Buffer.concat([sealed, Buffer.of(0)]), context), SAME_FAILURE)
  t.match(SAME_FAILURE, /^internal A stored value could not be opened/)
  t.equal(failureOf(sealed, context), 'opened')
})

t.test('another tenant, id, type, version, part or key version fails', async (t) => {
  const sealed = seal(7, text, context)
  const others: readonly Partial<SealContext>[] = [
    { tenantId: '0f9a8f4e-1f6c-4a6e-8d5a-3f0c6d2b7e12' },
    { tokenId: 'token-2' },
    { type: 'bank' },
    { version: 4 },
    { part: 'ephemeral' },
    { also: ['/pci/'] },
    { also: [''] },
    { tokenId: 'token-1card', type: '' },
    { tokenId: 'token-', type: '1card' },
  ]
  for (const other of others) t.equal(failureOf(sealed, { ...context, ...other }), SAME_FAILURE)
  t.equal(failureOf(seal(8, text, context), context), SAME_FAILURE, 'unknown key version')
  t.equal(versionOf(sealed), 7)
  t.equal(versionOf(sealed.subarray(0, 48)), undefined)
  const contexts = fc.record({
    tenantId: fc.string(),
    tokenId: fc.string({ unit: 'binary' }),
    type: fc.string(),
    version: fc.nat(),
    part: fc.constantFrom('sealed' as const, 'ephemeral' as const),
    also: fc.array(fc.string(), { maxLength: 2 }),
  })
  fc.assert(
    fc.property(contexts, contexts, (a, b) => {
      const same = (Object.keys(a) as (keyof typeof a)[]).every(
        (name) => JSON.stringify(a[name]) === JSON.stringify(b[name]),
      )
      return (failureOf(seal(7, text, a), b) === 'opened') === same
    }),
    { numRuns: 300 },
  )
})

t.test('sealing a plaintext twice gives different bytes, with nothing in common', async (t) => {
  const [first, second] = [seal(7, text, context), seal(7, text, context)]
  t.notSame(first.subarray(5, 21), second.subarray(5, 21), 'salt')
  t.notSame(first.subarray(21, 33), second.subarray(21, 33), 'nonce')
  t.notSame(first.subarray(33), second.subarray(33), 'ciphertext')
})

t.test(
  'values of one sealer have one key, a nonce each, and open under their own binding only',
  async (t) => {
    const together = createSealer(dataKey, 7)
    const second = { ...context, tokenId: 'token-2' }
    const [a, b] = [together(text, context), together(text, second)]
    t.same(a.subarray(5, 21), b.subarray(5, 21), 'salt')
    t.notSame(a.subarray(21, 33), b.subarray(21, 33), 'nonce')
    t.notSame(a.subarray(33, 33 + text.length), b.subarray(33, 33 + text.length), 'ciphertext')
    t.equal(failureOf(a, second), SAME_FAILURE)
    const alone = seal(7, text, context)
    for (const [sealed, under] of [
      [a, context],
      [b, second],
      [alone, context],
      [b, second],
    ] as const)
      t.equal(open(keyOf, sealed, under).toString(), text.toString())
    const otherKey = createSecretKey(Buffer.alloc(32, 1))
    t.throws(() => open(() => otherKey, b, second), AppError, 'the same salt under another data key')
  },
)

t.test('a salt is used for 65,536 seals, and values with uncached salts open too', async (t) => {
  const salts: Buffer[] = []
  const seal = createSealer(dataKey, 7, (size) => {
    const bytes = randomBytes(size)
    if (size === 16) salts.push(bytes)
    return bytes
  })
  const first = seal(text, context)
  for (let seals = 1; seals < 65_536; seals++) seal(text, context)
  t.equal(salts.length, 1)
  const next = seal(text, context)
  t.equal(salts.length, 2)
  t.same(
    [first, next].map((sealed) => sealed.subarray(5, 21)),
    salts,
  )
  const many = Array.from({ length: 250 }, () => createSealer(dataKey, 7)(text, context))
  for (const sealed of [first, next, ...many, ...many.toReversed()])
    if (!open(keyOf, sealed, context).equals(text)) t.fail('a value did not open as it was')
})
