import t from 'tap'
import { createRecentHosts } from '../../src/gateway/recent-hosts.ts'

t.test('a tenant may call new hosts up to its share per minute; repeated hosts are free', async (t) => {
  let now = 0
  const hosts = createRecentHosts(8, () => now)
  const call = (owner: string, ...names: string[]) => {
    for (const name of names) hosts.use(owner, name)
  }
  call('a', '1', '2', '3', '4')
  call('a', '1', '2', '3', '4')
  t.throws(() => call('a', '5'), { code: 'rate_limited' })
  call('b', '1', '5')
  now += 60_000
  call('a', '4')
  t.throws(() => call('a', '5'), { code: 'rate_limited' }, 'Envoy may still hold them')
  now += 60_000
  call('a', '5', '6')
  t.throws(() => call('a', '7', '8', '9'), { code: 'rate_limited' }, 'one that was called again stays')
})
