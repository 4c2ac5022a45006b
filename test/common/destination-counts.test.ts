import t from 'tap'
import { createDestinationCounts, mergeDestinations } from '../../src/common/destination-counts.ts'

const HOUR = 3_600_000
const START = 1_000 * HOUR + 600_000

const counted = (most?: { ofTenant: number; ofAll: number }) => {
  const clock = { now: START }
  return { clock, counts: createDestinationCounts(() => clock.now, most) }
}

t.test('calls and tokens of a tenant are summed by host, over hours', async (t) => {
  const { clock, counts } = counted()
  counts.add('a', 'api.test', 2)
  clock.now += HOUR
  counts.add('a', 'api.test', 1)
  counts.add('a', 'other.test', 1)
  counts.add('b', 'api.test', 7)
  t.same(counts.of('a'), {
    since: START,
    destinations: [
      { host: 'api.test', calls: 2, tokens: 3 },
      { host: 'other.test', calls: 1, tokens: 1 },
    ],
  })
  t.same(counts.of('unknown').destinations, [])
})

t.test('counts of an hour are dropped after a day', async (t) => {
  const { clock, counts } = counted()
  counts.add('a', 'api.test', 1)
  clock.now += 23 * HOUR
  t.equal(counts.of('a').destinations.length, 1)
  clock.now += HOUR
  t.same(counts.of('a'), { since: 1_001 * HOUR, destinations: [] })
})

t.test('hosts beyond the limits of a tenant and of an hour are counted together', async (t) => {
  const { counts } = counted({ ofTenant: 2, ofAll: 3 })
  for (let at = 0; at < 1_000; at++) counts.add('a', `${at}.test`, 1)
  counts.add('b', 'first.test', 1)
  counts.add('b', 'second.test', 1)
  t.same(counts.of('a').destinations, [
    { host: '0.test', calls: 1, tokens: 1 },
    { host: '1.test', calls: 1, tokens: 1 },
    { host: '*', calls: 998, tokens: 998 },
  ])
  t.same(
    counts.of('b').destinations.map(({ host }) => host),
    ['first.test', '*'],
  )
})

t.test('counts of several processes are merged from the newest start on', async (t) => {
  const first = { since: 1, destinations: [{ host: 'api.test', calls: 1, tokens: 2 }] }
  const second = { since: 5, destinations: [{ host: 'api.test', calls: 1, tokens: 1 }] }
  t.same(mergeDestinations([first, second]), {
    since: 5,
    destinations: [{ host: 'api.test', calls: 2, tokens: 3 }],
  })
})
