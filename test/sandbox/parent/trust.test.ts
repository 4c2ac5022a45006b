import t from 'tap'
import { createTrustTracker } from '../../../src/sandbox/parent/trust.ts'

const MINUTE = 60_000

t.test('code that ended two children within ten minutes is quarantined until these are over', async (t) => {
  let now = 0
  const reputation = createTrustTracker({ now: () => now })
  reputation.killed('k')
  t.notOk(reputation.quarantined('k'))
  now = 9 * MINUTE
  reputation.killed('k')
  t.ok(reputation.quarantined('k'))
  t.notOk(reputation.quarantined('other'))
  now = 10 * MINUTE
  t.notOk(reputation.quarantined('k'), 'the first is ten minutes ago')
  reputation.killed('k')
  t.ok(reputation.quarantined('k'), 'and the second is not')
})

t.test('code is trusted after it behaved and met no limit for a minute', async (t) => {
  let now = 0
  const reputation = createTrustTracker({ now: () => now })
  t.equal(reputation.standing('k'), 'unknown')
  reputation.behaved('k')
  t.equal(reputation.standing('k'), 'trusted')
  reputation.exceeded('k')
  reputation.behaved('k')
  t.equal(reputation.standing('k'), 'suspect', 'it met a limit just now')
  now = MINUTE
  t.equal(reputation.standing('k'), 'trusted')
})
