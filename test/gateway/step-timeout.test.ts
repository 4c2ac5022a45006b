import t from 'tap'
import { createStepTimeout } from '../../src/gateway/step-timeout.ts'

const never = new Promise<never>(() => {})

t.test('work that ends in time is its own answer, value or fault', async (t) => {
  const timeout = createStepTimeout()
  t.equal(await timeout.within(1000, Promise.resolve(5)), 5)
  await t.rejects(timeout.within(1000, Promise.reject(new Error('boom'))), { message: 'boom' })
  timeout.cancel()
  t.notOk(timeout.signal().aborted, 'between steps nothing is given up')
})

t.test(
  'work that takes too long is given up and told so, before and after it asks for a signal',
  async (t) => {
    const early = createStepTimeout()
    const signal = early.signal()
    await t.rejects(early.within(1, never), { code: 'gateway_timeout' })
    t.ok(signal.aborted)
    const late = createStepTimeout()
    await t.rejects(late.within(1, never), { code: 'gateway_timeout' })
    t.ok(late.signal().aborted)
  },
)

t.test('work that nobody waits for is given up at once', async (t) => {
  const timeout = createStepTimeout()
  const signal = timeout.signal()
  const work = timeout.within(60_000, never)
  timeout.cancel()
  await t.rejects(work, { code: 'gateway_timeout' })
  t.ok(signal.aborted)
})
