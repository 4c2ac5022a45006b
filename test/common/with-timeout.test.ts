import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createStepTimeout, TimeoutError, withTimeout } from '../../src/common/with-timeout.ts'

const late = () => new AppError('gateway_timeout', 'late')
const never = new Promise<never>(() => {})

t.test('work that ends in time gives its own result, value or error', async (t) => {
  const timeout = createStepTimeout(late)
  t.equal(await timeout.within(1000, Promise.resolve(5)), 5)
  await t.rejects(timeout.within(1000, Promise.reject(new Error('boom'))), { message: 'boom' })
  timeout.cancel()
  t.notOk(timeout.signal().aborted, 'between steps nothing is given up')
})

t.test('work that exceeds its time is aborted, whether its signal was read before or after', async (t) => {
  const early = createStepTimeout(late)
  const signal = early.signal()
  await t.rejects(early.within(1, never), { code: 'gateway_timeout' })
  t.ok(signal.aborted)
  const slow = createStepTimeout(late)
  await t.rejects(slow.within(1, never), { code: 'gateway_timeout' })
  t.ok(slow.signal().aborted)
})

t.test('cancelled work is aborted at once', async (t) => {
  const timeout = createStepTimeout(late)
  const signal = timeout.signal()
  const work = timeout.within(60_000, never)
  timeout.cancel()
  await t.rejects(work, { code: 'gateway_timeout' })
  t.ok(signal.aborted)
})

t.test(
  'withTimeout returns the outcome in time, else a TimeoutError, and aborts its signal in both cases',
  async (t) => {
    const signals: AbortSignal[] = []
    const asked = <T>(work: Promise<T>) =>
      withTimeout(5, (signal) => {
        signals.push(signal)
        return work
      })
    t.equal(await asked(Promise.resolve(5)), 5)
    await t.rejects(asked(Promise.reject(new Error('boom'))), { message: 'boom' })
    await t.rejects(asked(never), TimeoutError)
    t.same(
      signals.map(({ aborted }) => aborted),
      [true, true, true],
    )
  },
)
