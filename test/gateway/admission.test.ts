import t from 'tap'
import { createAdmission } from '../../src/gateway/admission.ts'

t.test('work above the limits is rejected at once, and capacity is released', async (t) => {
  const admission = createAdmission({ running: 2, bytes: 100 })
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = admission.run(60, () => promise)
  await t.rejects(async () => admission.run(60, async () => 'writeOnly'), {
    code: 'overloaded',
    retryAfter: 1,
  })
  const second = admission.run(40, () => promise)
  t.equal(admission.running, 2)
  await t.rejects(async () => admission.run(0, async () => 'writeOnly'), { code: 'overloaded' })
  resolve('done')
  t.same(await Promise.all([first, second]), ['done', 'done'])
  t.equal(admission.running, 0)
  await t.rejects(
    async () =>
      admission.run(10, async () => {
        throw new Error('its own')
      }),
    /its own/,
  )
  t.equal(await admission.run(1000, async () => 'alone'), 'alone', 'a single body always fits')
})

t.test('an owner leaves capacity to others, in number and in bytes', async (t) => {
  const admission = createAdmission({ running: 4, bytes: 100 })
  const { promise, resolve } = Promise.withResolvers<string>()
  const work = () => promise
  const running = [admission.run(20, work, 'a'), admission.run(20, work, 'a')]
  await t.rejects(async () => admission.run(0, work, 'a'), { code: 'rate_limited', retryAfter: 1 })
  running.push(admission.run(50, work, 'b'))
  await t.rejects(async () => admission.run(20, work, 'c'), { code: 'overloaded', retryAfter: 1 })
  t.equal(admission.running, 3, 'work that is rejected for its bytes holds no place')
  resolve('done')
  t.same(await Promise.all(running), ['done', 'done', 'done'])
  t.equal(await admission.run(1000, work, 'a'), 'done', 'a single body always fits')
  t.equal(admission.running, 0)
})
