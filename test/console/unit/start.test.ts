import t from 'tap'
import {
  APPLICATION,
  CARD,
  DEMO_URL,
  payment,
  shellLines,
} from '../../../src/console/screens/try/first-calls.ts'
import { startupBanner } from '../../../src/supervisor/startup-banner.ts'

const printed = startupBanner({
  config: { headerPrefixes: ['SVC'], dataDir: '/data', tls: undefined, loopback: true, console: true },
  listen: { host: '127.0.0.1', port: 8080 },
  api: undefined,
  ops: undefined,
  forward: undefined,
  role: 'all',
  firstSteps: true,
  installed: false,
  key: undefined,
})

t.test('the commands of First minute are those that npm start prints', async (t) => {
  const lines = shellLines({ origin: 'http://127.0.0.1:8080', prefix: 'SVC' })
  const expected = printed.split('\n').filter((line) => /^(KEY=|TOKEN=|curl )/.test(line))
  t.same(
    lines,
    expected.map((line) => line.replace('$SIDEVAULT_BOOTSTRAP_KEY', '$SIDEVAULT_API_KEY')),
  )
})

t.test('the calls of First minute send what the commands send', async (t) => {
  t.ok(printed.includes(JSON.stringify(APPLICATION)))
  t.ok(printed.includes(JSON.stringify(CARD)))
  t.ok(printed.includes(DEMO_URL))
  t.same(payment('abc'), { card: "{{ abc | json: '$.number' }}" })
})
