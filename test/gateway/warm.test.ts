import t from 'tap'
import { startWarmer } from '../../src/gateway/warm.ts'
import type { StoredProxy } from '../../src/sdk/index.ts'
import { silentLog } from '../kit/egress.ts'

const proxy = (id: string, code: Partial<StoredProxy>): StoredProxy => ({
  id,
  tenantId: 'tenant',
  destinationUrl: 'https://a.test',
  requireAuth: true,
  configuration: {},
  ...code,
})

t.test('code is warmed at the start and after each change, and not in between', async (t) => {
  let changes = 1
  let asked = 0
  let warnings = 0
  let proxies = [proxy('a', { requestTransform: 'one' }), proxy('b', {})]
  const warmed: string[][] = []
  const until = async (done: () => boolean) => {
    while (!done()) await new Promise((resolve) => setImmediate(resolve))
  }
  const warmer = startWarmer(
    {
      log: Object.assign(silentLog(), { warn: () => warnings++ }),
      proxies: {
        changes: async () => {
          asked++
          return changes
        },
        recentlyUsed: async () => proxies,
      },
      sandbox: {
        warm: async (programs) => {
          warmed.push(programs.map(({ name, code }) => `${name} ${code}`))
          if (warmed.length > 1 && warmed.length < 5) throw new Error('no child')
        },
      },
    },
    { everyMs: 1 },
  )
  t.teardown(() => warmer.close())
  await until(() => warmed.length === 1)
  const idle = asked + 3
  await until(() => asked > idle)
  t.same(warmed, [['request_transform one']])
  proxies = [proxy('a', { requestTransform: 'two', responseTransform: 'three' })]
  changes++
  await until(() => warmed.length === 5)
  const both = ['request_transform two', 'response_transform three']
  t.same(warmed.slice(1), [both, both, both, both], 'what failed is tried again')
  t.equal(warnings, 1, 'repeated failures are logged once in ten seconds')
})
