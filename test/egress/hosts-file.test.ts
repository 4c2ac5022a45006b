import t from 'tap'
import { addressesIn } from '../../src/egress/hosts-file.ts'

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
})
