import fc from 'fast-check'
import t from 'tap'
import { lengthPrefixed, pooledRandom } from '../../src/keys/bytes.ts'

t.test('different lists of parts never give the same bytes', async (t) => {
  const parts = fc.array(fc.string({ unit: 'binary', maxLength: 6 }), { maxLength: 4 })
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const same = a.length === b.length && a.every((part, index) => part === b[index])
      return lengthPrefixed(...a).equals(lengthPrefixed(...b)) === same
    }),
    { numRuns: 2000 },
  )
  t.notSame(lengthPrefixed('ab', 'c'), lengthPrefixed('a', 'bc'))
  t.notSame(lengthPrefixed('', 'a'), lengthPrefixed('a', ''))
  t.notSame(lengthPrefixed('\ud800'), lengthPrefixed('\ud801'), 'lone surrogates stay apart')
  t.notSame(lengthPrefixed('\ud800'), lengthPrefixed('\ufffd'))
})

t.test('pooled random bytes are used once', async (t) => {
  const seen = new Set<string>()
  for (let index = 0; index < 1000; index++) seen.add(pooledRandom(28).toString('hex'))
  t.equal(seen.size, 1000)
  const drawn = pooledRandom(28)
  const copy = Buffer.from(drawn)
  for (let index = 0; index < 1000; index++) pooledRandom(28)
  t.same(drawn, copy, 'later draws do not touch it')
})
