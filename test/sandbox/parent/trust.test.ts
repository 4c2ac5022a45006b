import t from 'tap'
import { createTrustTracker } from '../../../src/sandbox/parent/trust.ts'

const MINUTE = 60_000

t.test('code that killed two children within ten minutes is quarantined until then', async (t) => {
  let now = 0
  const trust = createTrustTracker({ now: () => now })
  trust.killed({ key: 'k', tenantId: 't' }, 'alone')
  t.notOk(trust.quarantined('k'))
  now = 9 * MINUTE
  trust.killed({ key: 'k', tenantId: 't' }, 'alone')
  t.ok(trust.quarantined('k'))
  t.notOk(trust.quarantined('other'))
  now = 10 * MINUTE
  t.notOk(trust.quarantined('k'), 'the first one is ten minutes old')
  trust.killed({ key: 'k', tenantId: 't' }, 'alone')
  t.ok(trust.quarantined('k'), 'the second one counts')
})

t.test('code is trusted after it ended by itself and exceeded no limit for a minute', async (t) => {
  let now = 0
  const trust = createTrustTracker({ now: () => now })
  t.equal(trust.levelOf('k'), 'unknown')
  trust.behaved('k')
  t.equal(trust.levelOf('k'), 'trusted')
  trust.exceeded('k')
  trust.behaved('k')
  t.equal(trust.levelOf('k'), 'suspect', 'it has just exceeded a limit')
  now = MINUTE
  t.equal(trust.levelOf('k'), 'trusted')
})

t.test('a death in a child with other tenants does not count for quarantine', async (t) => {
  const trust = createTrustTracker({ now: () => 0 })
  trust.behaved('k')
  for (let death = 0; death < 3; death++) trust.killed({ key: 'k', tenantId: 't' }, 'shared')
  t.notOk(trust.quarantined('k'))
  t.equal(trust.levelOf('k', 't'), 'suspect', 'it loses trust')
  t.notOk(trust.separated('t'))
  trust.killed({ key: 'other', tenantId: 't' }, 'shared')
  t.ok(trust.separated('t'), 'several of them separate the tenant')
})

t.test(
  'no program of a tenant is trusted within ten minutes after it killed two children alone',
  async (t) => {
    let now = 0
    const trust = createTrustTracker({ now: () => now })
    for (const key of ['a', 'b', 'good']) trust.behaved(key)
    trust.killed({ key: 'a', tenantId: 't' }, 'alone')
    t.equal(trust.levelOf('good', 't'), 'trusted')
    trust.killed({ key: 'b', tenantId: 't' }, 'alone')
    t.ok(trust.separated('t'))
    t.equal(trust.levelOf('good', 't'), 'suspect')
    t.notOk(trust.quarantined('good'))
    t.notOk(trust.separated('u'))
    t.equal(trust.levelOf('good', 'u'), 'trusted', 'the same code of another tenant would have another key')
    now = 10 * MINUTE
    t.equal(trust.levelOf('good', 't'), 'trusted')
  },
)
