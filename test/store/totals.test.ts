import t from 'tap'
import { createTotals } from '../../src/store/totals.ts'

const setUp = () => {
  const clock = { now: 1_000 }
  const totals = createTotals(() => clock.now)
  let counts = 0
  const count = (total: number) => async () => {
    counts += 1
    return total
  }
  return { clock, totals, count, counts: () => counts }
}

t.test('a total up to 10,000 is counted each time', async (t) => {
  const { totals, count, counts } = setUp()
  t.equal(await totals.of({ q: 1 }, count(10_000)), 10_000)
  t.equal(await totals.of({ q: 1 }, count(9_999)), 9_999)
  t.equal(counts(), 2)
})

t.test('a larger total is counted once in ten seconds, for each query', async (t) => {
  const { clock, totals, count, counts } = setUp()
  t.equal(await totals.of({ q: 1 }, count(10_001)), 10_001)
  clock.now += 10_000
  t.equal(await totals.of({ q: 1 }, count(5)), 10_001)
  t.equal(await totals.of({ q: 2 }, count(7)), 7, 'another query')
  clock.now += 1
  t.equal(await totals.of({ q: 1 }, count(5)), 5)
  t.equal(await totals.of({ q: 1 }, count(6)), 6, 'what has become small is exact')
  t.equal(counts(), 4)
})

t.test('the age of a total counts from the start of its count', async (t) => {
  const { clock, totals, count } = setUp()
  const slow = async () => {
    clock.now += 9_000
    return 20_000
  }
  t.equal(await totals.of({ q: 1 }, slow), 20_000)
  clock.now += 1_001
  t.equal(await totals.of({ q: 1 }, count(20_001)), 20_001)
})

t.test('concurrent callers share a count of many, and none of few', async (t) => {
  for (const [total, expected] of [
    [20_000, 1],
    [3, 2],
  ] as const) {
    const { totals, count, counts } = setUp()
    const asked = [0, 1].map(() => totals.of({ q: 1 }, count(total)))
    t.strictSame(await Promise.all(asked), [total, total])
    t.equal(counts(), expected)
  }
})

t.test('a failed count fails its callers, and is not cached', async (t) => {
  const { totals, count } = setUp()
  await t.rejects(totals.of({ q: 1 }, async () => Promise.reject(new Error('interrupted'))))
  t.equal(await totals.of({ q: 1 }, count(3)), 3)
})
