/** Each child of a supervisor is killed at each step of its start, fifty times in all. */
import t from 'tap'
import { CHILDREN, startAndKill } from './kill-at-start.ts'
import { start } from './start.ts'

/** ms from the first sight of the child to its end. The last ones are when most starts are complete. */
const DELAYS = [0, 20, 50, 100, 150, 200, 300, 450, 600, 900, 1_400, 2_000]

const folder = t.testdir()
const dataDir = `${folder}/data`

t.before(async () => {
  await (await start(dataDir)).stop()
})

for (const [name, pattern] of Object.entries(CHILDREN))
  t.test(`a start without ${name} continues, or ends with a sentence`, async (t) => {
    const outcomes = []
    for (const ms of DELAYS) outcomes.push(await startAndKill(t, { dataDir, pattern, ms }))
    t.comment(outcomes.join(', '))
  })

t.test('a first start without its admin process ends with a sentence', async (t) => {
  for (const ms of [100, 400])
    await startAndKill(t, {
      dataDir: `${folder}/first-${ms}`,
      pattern: CHILDREN['the admin process'],
      ms,
    })
})
