import t from 'tap'
import { createPatience } from '../../src/gateway/patience.ts'

const never = new Promise<never>(() => {})

t.test('work that ends in time is its own answer, value or fault', async (t) => {
  const patience = createPatience()
  t.equal(await patience.within(1000, Promise.resolve(5)), 5)
  await t.rejects(patience.within(1000, Promise.reject(new Error('boom'))), { message: 'boom' })
  patience.giveUp()
  t.notOk(patience.signal().aborted, 'between steps nothing is given up')
})

t.test(
  'work that takes too long is given up and told so, before and after it asks for a signal',
  async (t) => {
    const early = createPatience()
    const signal = early.signal()
    await t.rejects(early.within(1, never), { code: 'unavailable' })
    t.ok(signal.aborted)
    const late = createPatience()
    await t.rejects(late.within(1, never), { code: 'unavailable' })
    t.ok(late.signal().aborted)
  },
)

t.test('work that nobody waits for is given up at once', async (t) => {
  const patience = createPatience()
  const signal = patience.signal()
  const work = patience.within(60_000, never)
  patience.giveUp()
  await t.rejects(work, { code: 'unavailable' })
  t.ok(signal.aborted)
})
