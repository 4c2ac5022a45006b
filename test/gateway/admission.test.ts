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
  const admission = createAdmission({ running: 3, bytes: 0, owners: [{ running: 2, bytes: 0 }] })
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

t.test('a tenant leaves room for others, and each of its proxies for the rest of its own', async (t) => {
  const admission = createAdmission({
    running: 10,
    bytes: 100,
    owners: [
      { running: 3, bytes: 60 },
      { running: 2, bytes: 40 },
    ],
  })
  const { promise, resolve } = Promise.withResolvers<string>()
  const wait = () => promise
  const refused = async (bytes: number, tenant: string, proxy: string) =>
    t.rejects(admission.run(bytes, wait, tenant, proxy), { code: 'overloaded' }, `${tenant} ${proxy}`)
  const running = [admission.run(30, wait, 'a', 'a1')]
  await refused(20, 'a', 'a1')
  running.push(admission.run(10, wait, 'a', 'a1'))
  await refused(0, 'a', 'a1')
  await refused(30, 'a', 'a2')
  running.push(admission.run(10, wait, 'a', 'a2'))
  await refused(0, 'a', 'a3')
  running.push(admission.run(40, wait, 'b', 'b1'))
  resolve('done')
  await Promise.all(running)
  t.equal(admission.running, 0)
  t.equal(await admission.run(50, wait, 'a', 'a1'), 'done', 'all of it came back')
})
