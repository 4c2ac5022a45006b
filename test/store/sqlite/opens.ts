/** Child of open.integration.test.ts: opens a store as its arguments say, prints a line of JSON. */
import { openStore } from '../../../src/store/open.ts'
import { NOW, silent } from '../kit.ts'

const [location = '', task = ''] = process.argv.slice(2)

try {
  const store = await openStore({
    location,
    mode: task === 'read' ? 'read-only' : 'read-write',
    log: silent,
    timeout: 120_000,
  })
  if (task === 'commit') {
    const shape = { name: 'things', indexes: [], lookups: [] }
    await store.records.commit(
      [
        {
          kind: 'insert',
          collection: 'things',
          tenantId: 'tenant-a',
          id: `${process.pid}`,
          record: {},
          shape,
        },
      ],
      NOW,
    )
  }
  const { total } = await store.records.find('things', 'tenant-a', {})
  await store.close()
  process.stdout.write(JSON.stringify({ ok: true, total }))
} catch (thrown) {
  process.stdout.write(JSON.stringify({ ok: false, message: String(thrown) }))
}
