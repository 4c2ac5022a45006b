import t from 'tap'
import { takeBatch } from '../../../src/store/postgres/create-batch.ts'
import { aToken, NOW } from '../kit.ts'

const call = (count: number, deduplicate: boolean) => {
  const tokens = Array.from({ length: count }, () =>
    aToken({ fingerprint: crypto.randomUUID(), deduplicate }),
  )
  return { args: { tokens, now: NOW } }
}
const calls = (count: number, deduplicate: boolean) =>
  Array.from({ length: count }, () => call(1, deduplicate))

t.test('a batch ends before 101 tokens that may have large duplicates', async (t) => {
  t.equal(takeBatch(calls(150, true), 1_000).length, 100)
  t.equal(takeBatch(calls(150, false), 1_000).length, 150)
  t.equal(takeBatch([call(60, true), call(60, true)], 1_000).length, 1)
  t.equal(takeBatch([call(60, true), ...calls(40, true), call(500, false)], 1_000).length, 42)
})

t.test('a call with more of them gets no batch', async (t) => {
  t.equal(takeBatch([call(101, true), call(1, false)], 1_000).length, 0)
  t.equal(takeBatch([call(1, false), call(101, true)], 1_000).length, 1)
})
