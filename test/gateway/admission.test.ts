import t from 'tap'
import { createAdmission } from '../../src/gateway/admission.ts'

t.test('work beyond the bounds is refused at once, and room comes back', async (t) => {
  const admission = createAdmission({ running: 2, bytes: 100 })
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = admission.run(60, () => promise)
  await t.rejects(
    admission.run(60, async () => 'never'),
    { code: 'overloaded', retryAfter: 1 },
  )
  const second = admission.run(40, () => promise)
  t.equal(admission.running, 2)
  await t.rejects(
    admission.run(0, async () => 'never'),
    { code: 'overloaded' },
  )
  resolve('done')
  t.same(await Promise.all([first, second]), ['done', 'done'])
  t.equal(admission.running, 0)
  await t.rejects(
    admission.run(10, async () => {
      throw new Error('its own')
    }),
    /its own/,
  )
  t.equal(await admission.run(1000, async () => 'alone'), 'alone', 'a single body always fits')
})

t.test('one owner leaves room for others', async (t) => {
  const admission = createAdmission({ running: 3, ofOwner: 2, bytes: 0 })
  const { promise, resolve } = Promise.withResolvers<string>()
  const all = ['one', 'one', 'other'].map((owner) => admission.run(0, () => promise, owner))
  resolve('done')
  await t.rejects(
    admission.run(0, () => promise, 'third'),
    { code: 'overloaded' },
  )
  await Promise.all(all)
  const go = Promise.withResolvers<string>()
  const own = [1, 2].map(() => admission.run(0, () => go.promise, 'one'))
  await t.rejects(
    admission.run(0, () => promise, 'one'),
    { code: 'overloaded' },
  )
  t.equal(await admission.run(0, () => promise, 'other'), 'done')
  go.resolve('done')
  await Promise.all(own)
  t.equal(await admission.run(0, () => promise, 'one'), 'done')
})
