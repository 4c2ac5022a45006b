import t from 'tap'
import { createTrustTracker } from '../../../src/sandbox/parent/trust.ts'

const MINUTE = 60_000

t.test('code that ended two children within ten minutes is quarantined until these are over', async (t) => {
  let now = 0
  const reputation = createTrustTracker({ now: () => now })
  reputation.killed({ key: 'k', tenantId: 't' }, 'alone')
  t.notOk(reputation.quarantined('k'))
  now = 9 * MINUTE
  reputation.killed({ key: 'k', tenantId: 't' }, 'alone')
  t.ok(reputation.quarantined('k'))
  t.notOk(reputation.quarantined('other'))
  now = 10 * MINUTE
  t.notOk(reputation.quarantined('k'), 'the first is ten minutes ago')
  reputation.killed({ key: 'k', tenantId: 't' }, 'alone')
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

t.test('a death in a child with other tenants is no proof against the program', async (t) => {
  const reputation = createTrustTracker({ now: () => 0 })
  reputation.behaved('k')
  for (let death = 0; death < 3; death++) reputation.killed({ key: 'k', tenantId: 't' }, 'shared')
  t.notOk(reputation.quarantined('k'))
  t.equal(reputation.standing('k', 't'), 'suspect', 'but it loses trust')
  t.notOk(reputation.separated('t'))
  reputation.killed({ key: 'other', tenantId: 't' }, 'shared')
  t.ok(reputation.separated('t'), 'and many of them are')
})

t.test('no program of a tenant is trusted within ten minutes after two ended children alone', async (t) => {
  let now = 0
  const reputation = createTrustTracker({ now: () => now })
  for (const key of ['a', 'b', 'good']) reputation.behaved(key)
  reputation.killed({ key: 'a', tenantId: 't' }, 'alone')
  t.equal(reputation.standing('good', 't'), 'trusted')
  reputation.killed({ key: 'b', tenantId: 't' }, 'alone')
  t.ok(reputation.separated('t'))
  t.equal(reputation.standing('good', 't'), 'suspect')
  t.notOk(reputation.quarantined('good'))
  t.notOk(reputation.separated('u'))
  t.equal(
    reputation.standing('good', 'u'),
    'trusted',
    'the same code of another tenant would have another key',
  )
  now = 10 * MINUTE
  t.equal(reputation.standing('good', 't'), 'trusted')
})
