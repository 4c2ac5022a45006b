import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createOpenedHosts } from '../../src/control-plane/opened-hosts.ts'

// The time limit does not keep a process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const hostsOf = (...names: string[]) => names.map((host) => ({ host, certificate: '', key: '' }))

t.test('a host opens when Envoy has acknowledged it', async (t) => {
  let acknowledged = hostsOf()
  const { opens, change } = createOpenedHosts(() => acknowledged)
  const order: string[] = []
  const waiting = opens('api.test').then((opened) => order.push(`opens: ${opened}`))
  const next = hostsOf('api.test', '*.wild.test')
  const ack = Promise.withResolvers<void>()
  const changing = change(next, () => ack.promise)
  await setImmediate()
  order.push('acknowledged')
  acknowledged = next
  ack.resolve()
  await Promise.all([changing, waiting])
  t.same(order, ['acknowledged', 'opens: true'])
  t.equal(await opens('a.wild.test'), true)
})

t.test(
  'a host does not open while a change closes it, and does when Envoy rejects that change',
  async (t) => {
    const { opens, change } = createOpenedHosts(() => hostsOf('api.test'), { timeoutMs: 1 })
    const acks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const changing = acks.map(({ promise }) => change(hostsOf(), () => promise))
    acks[0]?.resolve()
    await changing[0]
    t.equal(await opens('api.test'), false)
    acks[1]?.reject(new Error('NACK'))
    await t.rejects(changing[1] ?? Promise.resolve(), /NACK/)
    t.equal(await opens('api.test'), true)
  },
)

t.test('a host that nothing opens does not open in time', async (t) => {
  t.equal(await createOpenedHosts(hostsOf, { timeoutMs: 1 }).opens('api.test'), false)
})
