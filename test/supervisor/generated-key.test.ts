import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { handOver, shownKey } from '../../src/supervisor/generated-key.ts'
import { startupBanner } from '../../src/supervisor/startup-banner.ts'

t.test('a terminal shows the key itself, and no file contains it', async (t) => {
  const dataDir = t.testdir({})
  const announced = {
    config: { headerPrefixes: ['SVC'], dataDir, tls: undefined, loopback: true, console: true },
    ...{
      listen: { host: '127.0.0.1', port: 8080 },
      api: undefined,
      ops: undefined,
      forward: undefined,
      role: 'all' as const,
      firstSteps: true,
      installed: true,
    },
  } as const
  const key = handOver('key_marker', dataDir, true)
  t.equal(
    startupBanner({ ...announced, key }).split('key_marker').length,
    3,
    'once to keep, once in the first line',
  )
  t.same(readdirSync(dataDir), [])
})

t.test('a key whose file cannot be written is reported with the remedy', async (t) => {
  const key = handOver('key_marker', join(t.testdir(), 'missing'), false)
  t.match(shownKey(key), /^lost: .*management\.key cannot be written \(ENOENT\).*tenants new-key/)
})
