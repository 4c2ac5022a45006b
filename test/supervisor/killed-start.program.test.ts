/** Each child of a supervisor is killed once when it appears. `killed-start.long.test.ts` kills at more steps. */
import t from 'tap'
import { CHILDREN, startAndKill } from './kill-at-start.ts'
import { start } from './start.ts'

const dataDir = `${t.testdir()}/data`

t.test(
  'a first start without its admin process ends with a sentence, and the next one succeeds',
  async (t) => {
    t.equal(await startAndKill(t, { dataDir, pattern: CHILDREN['the admin process'], ms: 100 }), 'ended')
    const { stop, output } = await start(dataDir)
    t.equal(await stop(), 0, output.stderr)
  },
)

for (const [name, pattern] of Object.entries(CHILDREN))
  t.test(`a start without ${name} continues, or ends with a sentence`, async (t) => {
    t.ok(await startAndKill(t, { dataDir, pattern }))
  })
