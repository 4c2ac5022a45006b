import t from 'tap'
import { addressesIn, createResolve } from '../../src/egress/resolve.ts'
import { startDns } from '../kit/dns.ts'

const HOSTS = `127.0.0.1 localhost
# 10.0.0.9 comment.test
10.0.0.1\tOne.test one # two.test
fd00::1   one.test
nonsense  one.test`

t.test('a hosts file gives all addresses of a name, in any letter case', async (t) => {
  t.same(addressesIn(HOSTS, 'one.TEST'), [
    { address: '10.0.0.1', family: 4 },
    { address: 'fd00::1', family: 6 },
  ])
  t.same(addressesIn(HOSTS, 'comment.test'), [])
  t.same(addressesIn(HOSTS, 'two.test'), [])
  t.same(
    await createResolve([])('localhost').then((all) => all.some(({ address }) => /^(127|::1)/.test(address))),
    true,
  )
})

t.test('a lookup is aborted with its signal, and pending lookups block no other', async (t) => {
  const dns = await startDns()
  t.teardown(() => dns.close())
  const resolve = createResolve([{ address: '127.0.0.1', port: dns.port }])
  const controller = new AbortController()
  const silent = Array.from({ length: 60 }, (_, at) => `${at}.silent.test`)
  for (const name of silent) dns.set(name, { silent: true })
  const waiting = silent.map((name) => resolve(name, controller.signal).catch(({ code }) => code))
  dns.set('known.test', { a: ['10.0.0.1'], aaaa: ['fd00::1'] })
  t.same(await resolve('known.test'), [
    { address: '10.0.0.1', family: 4 },
    { address: 'fd00::1', family: 6 },
  ])
  t.same(await resolve('10.0.0.2'), [{ address: '10.0.0.2', family: 4 }])
  controller.abort()
  t.same(new Set(await Promise.all(waiting)), new Set(['destination_unreachable']))
  await t.rejects(resolve('known.test', controller.signal), { code: 'destination_unreachable' })
  await t.rejects(resolve('unknown.test'), { code: 'destination_unreachable' })
})
