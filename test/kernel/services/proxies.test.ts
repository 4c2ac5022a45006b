import t from 'tap'
import { createProxyDirectory } from '../../../src/kernel/services/proxies.ts'
import type { StoredProxy } from '../../../src/sdk/index.ts'

const PROXY: StoredProxy = {
  id: 'a',
  tenantId: 'tenant',
  destinationUrl: 'https://a.test',
  requireAuth: true,
  configuration: {},
}

const setUp = () => {
  const state = { changes: 1, stored: new Map([['hash of key', PROXY]]), asked: [] as string[] }
  const directory = createProxyDirectory({
    keys: { mac: (_purpose, key) => `hash of ${key}` },
    records: { changes: async () => state.changes },
    source: () => ({
      collections: ['proxies'],
      find: async (hash) => {
        state.asked.push(hash)
        return state.stored.get(hash)
      },
      intercepting: async () => [],
      nameOf: async () => undefined,
      actingAs: async function* () {},
      newest: async () => [{ ...PROXY, id: 'newest' }],
    }),
  })
  return { state, directory }
}

t.test(
  'a proxy is found by its key, cached while nothing changes, and read again after a change',
  async (t) => {
    const { state, directory } = setUp()
    t.equal(await directory.find('key'), PROXY)
    t.equal(await directory.find('key'), PROXY)
    t.equal(state.asked.length, 1)
    state.changes++
    state.stored.clear()
    t.equal(await directory.find('key'), undefined, 'a deleted one is gone')
    state.stored.set('hash of key', { ...PROXY, requireAuth: false })
    t.equal((await directory.find('key'))?.requireAuth, false, 'unknown ones are not kept')
  },
)

t.test('a key that is too long is not hashed', async (t) => {
  const { state, directory } = setUp()
  t.equal(await directory.find('x'.repeat(201)), undefined)
  t.same(state.asked, [])
})

t.test(
  'recently created and recently used proxies are listed in their current state, each once',
  async (t) => {
    const { state, directory } = setUp()
    await directory.find('key')
    state.stored.set('hash of key', { ...PROXY, requestTransform: 'new' })
    state.changes++
    t.same(await directory.changes(), 2)
    const ids = (await directory.recentlyUsed(10)).map(({ id, requestTransform }) => [id, requestTransform])
    t.same(ids.sort(), [
      ['a', 'new'],
      ['newest', undefined],
    ])
  },
)

t.test('without a plugin for proxies every key is unknown', async (t) => {
  const directory = createProxyDirectory({
    keys: { mac: () => 'hash' },
    records: { changes: async () => 0 },
    source: () => undefined,
  })
  t.equal(await directory.find('key'), undefined)
  t.equal(await directory.changes(), 0)
  t.same(await directory.recentlyUsed(10), [])
})
