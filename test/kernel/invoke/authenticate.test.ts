import t from 'tap'
import { createAuthenticator } from '../../../src/kernel/invoke/authenticate.ts'
import type { Caller, Credential } from '../../../src/sdk/index.ts'
import { testClock } from '../../kit/service.ts'

const caller: Caller = {
  tenantId: 't',
  actorId: 'a',
  actorType: 'application',
  grants: { permissions: ['token:read'], rules: [] },
}

/** An authenticator over a table of hashes that tests change, and what was asked of it. */
const setUp = (options: { cacheSize?: number } = {}) => {
  const known = new Map<string, Credential>()
  const asked: string[] = []
  const hashed: string[] = []
  const state = { changes: 1, during: async (_hash: string) => {} }
  const clock = testClock(0)
  const authenticator = createAuthenticator(
    {
      keys: {
        mac: (purpose, data) => {
          hashed.push(String(data))
          return `${purpose}:${data}`
        },
      },
      records: { changes: async () => state.changes },
      clock,
      ports: () => ({
        credentials: {
          collections: ['keys'],
          authenticate: async (hash) => {
            asked.push(hash)
            const credential = known.get(hash)
            await state.during(hash)
            return credential
          },
          install: async () => {},
        },
      }),
    },
    options,
  )
  return { known, asked, hashed, state, clock, authenticator }
}

t.test('a key is hashed once with the key of the service', async (t) => {
  const { known, hashed, authenticator } = setUp()
  known.set('api-key:key_1', { caller })
  known.set('api-key:key_2', { caller })
  for (const key of ['key_1', 'key_2', 'key_1', 'key_2'])
    t.equal(await authenticator.authenticate(key), caller)
  t.same(hashed, ['key_1', 'key_2'])
})

t.test('a caller is found by the keyed hash of the key, and cached while nothing changes', async (t) => {
  const { known, asked, authenticator } = setUp()
  known.set('api-key:key_1', { caller })
  t.equal(await authenticator.authenticate('key_1'), caller)
  t.equal(await authenticator.authenticate('key_1'), caller)
  t.same(asked, ['api-key:key_1'])
})

t.test('no key, an empty key and an unknown key are unauthenticated', async (t) => {
  const { authenticator, hashed } = setUp()
  await t.rejects(async () => authenticator.authenticate(undefined), { code: 'unauthenticated' })
  await t.rejects(async () => authenticator.authenticate(''), { code: 'unauthenticated' })
  t.same(hashed, [])
  await t.rejects(async () => authenticator.authenticate('key_x'), { code: 'unauthenticated' })
})

t.test('a key of more than 200 characters is not hashed', async (t) => {
  const { authenticator, hashed, known } = setUp()
  const longest = 'k'.repeat(200)
  known.set(`api-key:${longest}`, { caller })
  t.equal(await authenticator.authenticate(longest), caller)
  await t.rejects(async () => authenticator.authenticate(`${longest}k`), { code: 'unauthenticated' })
  t.same(hashed, [longest])
})

t.test(
  'unknown keys are not cached: one that becomes known is found, and none fills the cache',
  async (t) => {
    const { authenticator, known, asked } = setUp({ cacheSize: 2 })
    known.set('api-key:good', { caller })
    await authenticator.authenticate('good')
    for (let i = 0; i < 10; i++) await t.rejects(async () => authenticator.authenticate(`bad${i}`))
    await authenticator.authenticate('good')
    t.equal(asked.filter((hash) => hash === 'api-key:good').length, 1, 'the good one was not pushed out')
    known.set('api-key:bad1', { caller })
    t.equal(await authenticator.authenticate('bad1'), caller)
  },
)

t.test('a change of the collections applies to the next request', async (t) => {
  const { known, state, authenticator } = setUp()
  known.set('api-key:k', { caller })
  await authenticator.authenticate('k')
  const fewer = { ...caller, grants: { permissions: [], rules: [] } }
  known.set('api-key:k', { caller: fewer })
  state.changes++
  t.equal(await authenticator.authenticate('k'), fewer)
  known.delete('api-key:k')
  state.changes++
  await t.rejects(async () => authenticator.authenticate('k'), { code: 'unauthenticated' })
})

t.test('a lookup read before a known change is not cached', async (t) => {
  const { known, state, authenticator } = setUp()
  known.set('api-key:slow', { caller })
  known.set('api-key:other', { caller })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  state.during = (hash) => (hash === 'api-key:slow' ? held : Promise.resolve())
  const slow = authenticator.authenticate('slow')
  await new Promise((resolve) => setImmediate(resolve))
  known.delete('api-key:slow')
  state.changes++
  await authenticator.authenticate('other')
  release()
  t.equal(await slow, caller, 'it began before the change')
  await t.rejects(async () => authenticator.authenticate('slow'), { code: 'unauthenticated' })
})

t.test('expiry is checked on each use, also of cached callers', async (t) => {
  const { known, clock, authenticator } = setUp()
  known.set('api-key:k', { caller, expiresAt: 1000 })
  clock.advance(999)
  t.equal(await authenticator.authenticate('k'), caller)
  clock.advance(1)
  await t.rejects(async () => authenticator.authenticate('k'), { code: 'unauthenticated' })
})

t.test('an unauthorized session is forbidden, and unauthenticated once it has expired', async (t) => {
  const { known, clock, authenticator } = setUp()
  known.set('api-key:k', { caller, pending: true, expiresAt: 10 })
  await t.rejects(async () => authenticator.authenticate('k'), { code: 'forbidden' })
  clock.advance(10)
  await t.rejects(async () => authenticator.authenticate('k'), { code: 'unauthenticated' })
})
