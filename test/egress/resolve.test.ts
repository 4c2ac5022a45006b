import t from 'tap'
import { createResolve } from '../../src/egress/resolve.ts'
import { startDns } from '../kit/dns.ts'

t.test('without name servers, names of the hosts file of this machine are found', async (t) => {
  const addresses = await createResolve([])('localhost')
  t.ok(addresses.some(({ address }) => /^(127|::1)/.test(address)))
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
