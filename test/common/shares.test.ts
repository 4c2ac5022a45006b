import t from 'tap'
import { createShares, type Share, type Shares } from '../../src/common/shares.ts'

/** Takes shares until one is rejected. */
const takeAll = (shares: Shares, ...owner: string[]) => {
  const got: Share[] = []
  for (;;)
    try {
      got.push(shares.take(1, ...owner))
    } catch (thrown) {
      return { got, code: (thrown as { code: string }).code }
    }
}

t.test('the first owner gets half, and each further one its share of what is left', async (t) => {
  const shares = createShares(32, 'full')
  const first = takeAll(shares, 'a')
  t.same([first.got.length, first.code], [16, 'rate_limited'])
  const second = takeAll(shares, 'b')
  t.equal(second.got.length, 8)
  const greedy = ['c', 'd', 'e'].map((owner) => takeAll(shares, owner).got.length)
  t.same(greedy, [4, 2, 1])
  t.equal(shares.held, 31)
  t.ok(shares.take(1, 'f'), 'there is one for the next')
  t.throws(() => shares.take(1, 'g'), { code: 'overloaded', retryAfter: 1 })
  for (const share of [...first.got, ...second.got]) share.release()
  first.got[0]?.release()
  t.equal(shares.held, 8, 'each is given back once')
  t.equal(takeAll(shares, 'g').got.length, 12)
})

t.test('greedy owners that release and take converge to equal shares, and leave as much free', async (t) => {
  const shares = createShares(100, 'full')
  const held = ['a', 'b', 'c'].map((owner) => ({ owner, got: takeAll(shares, owner).got }))
  for (let round = 0; round < 100; round++)
    for (const { owner, got } of held) {
      got.pop()?.release()
      got.push(...takeAll(shares, owner).got)
    }
  t.same(
    held.map(({ got }) => got.length),
    [25, 25, 25],
  )
})

t.test('a part of an owner leaves capacity to its other parts', async (t) => {
  const shares = createShares(32, 'full')
  t.equal(takeAll(shares, 'a', 'proxy 1').got.length, 8)
  t.equal(takeAll(shares, 'a', 'proxy 2').got.length, 4)
  t.equal(takeAll(shares, 'b', 'proxy 1').got.length, 5, 'named alike is another one')
})

t.test('a share grows within its bound, and the first share of an owner may be large', async (t) => {
  const shares = createShares(100, 'full')
  const first = shares.take(80, 'a')
  t.throws(() => first.resize(81), { code: 'rate_limited' })
  t.equal(shares.held, 80, 'it keeps what it had')
  first.resize(10)
  first.resize(50)
  t.throws(() => shares.take(60, 'b'), { code: 'overloaded' })
  t.ok(shares.take(30, 'b'))
  first.release()
  first.resize(99)
  t.equal(shares.held, 30, 'what is given back stays so')
  t.throws(() => shares.take(71), { code: 'overloaded' }, 'without an owner the limit counts')
})
