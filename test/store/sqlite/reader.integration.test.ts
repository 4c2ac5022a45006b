import { join } from 'node:path'
import t from 'tap'
import { createLog } from '../../../src/common/log.ts'
import { openStore } from '../../../src/store/open.ts'
import { createReader } from '../../../src/store/sqlite/reader.ts'

const FOREVER = 'with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n'

t.test('an endless query is interrupted, and others are served concurrently', async (t) => {
  const path = join(t.testdir({}), 'vault.db')
  const store = await openStore({ location: path, mode: 'read-write', log: createLog('test', 'silent') })
  const reader = createReader({ path, ms: 6_000 })
  t.teardown(async () => {
    reader.close()
    await store.close()
  })
  const events: string[] = []
  const forever = reader.query(FOREVER, [], 'tenant-a').finally(() => events.push('interrupted'))
  const rejected = t.rejects(forever, { code: 'invalid' })
  t.same(await store.tokens.read('tenant-b', ['any'], 0), [])
  events.push('read')
  t.same(await reader.query('select ? as text, ? as bytes', ['a', Buffer.from([1])], 'tenant-b'), [
    { text: 'a', bytes: Buffer.from([1]) },
  ])
  events.push('searched')
  await rejected
  t.same(events, ['read', 'searched', 'interrupted'])
  t.same(await reader.query('select 1 as one', [], 'tenant-a'), [{ one: 1 }], 'another process does it')
  await t.rejects(reader.query('select nonsense', [], 'tenant-a'), { code: 'internal' })
})

t.test('lists and totals run in another process, and see the latest writes', async (t) => {
  const path = join(t.testdir({}), 'vault.db')
  const store = await openStore({ location: path, mode: 'read-write', log: createLog('test', 'silent') })
  const query = { tenantId: 'a', now: 0, visibility: 'all', size: 10 } as const
  t.same(await store.tokens.list(query), [])
  t.equal(await store.tokens.count(query), 0)
  await store.close()
  await t.rejects(store.tokens.list(query), { code: 'gateway_timeout' })
})
