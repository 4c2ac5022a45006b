import t from 'tap'
import { createTokens } from '../../../src/store/tokens/create.ts'
import { aToken, NOW } from '../kit.ts'

const call = (count: number, deduplicate: boolean) => {
  const tokens = Array.from({ length: count }, () =>
    aToken({ fingerprint: crypto.randomUUID(), deduplicate }),
  )
  return { tokens, now: NOW }
}
const calls = (count: number, deduplicate: boolean) =>
  Array.from({ length: count }, () => call(1, deduplicate))

const size = createTokens.batch!.size

t.test('a batch ends before 65 tokens that may have large duplicates', async (t) => {
  t.equal(size(calls(150, true)), 64)
  t.equal(size(calls(150, false)), 150)
  t.equal(size([call(40, true), call(40, true)]), 1)
  t.equal(size([call(40, true), ...calls(24, true), call(500, false)]), 26)
})

t.test('a batch ends before 1,001 tokens, and a larger call stays alone', async (t) => {
  t.equal(size(calls(1_200, false)), 1_000)
  t.equal(size([call(1_001, false), call(1, false)]), 1)
  t.equal(size([call(1, false), call(1_001, false)]), 1)
  t.equal(size([call(65, true), call(1, false)]), 1)
})
