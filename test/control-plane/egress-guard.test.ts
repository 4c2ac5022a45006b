import t from 'tap'
import {
  deniedRanges,
  dialedAddressFilter,
  resolvedAddressFilter,
} from '../../src/control-plane/egress-guard.ts'
import { holds } from '../../src/control-plane/ranges.ts'

const METADATA = [
  '169.254.169.254',
  'fd00:ec2::254',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '169.254.170.2',
]
const PRIVATE = [
  '0.0.0.0',
  '10.0.0.1',
  '10.1.255.255',
  '100.64.0.1',
  '127.0.0.1',
  '172.31.0.1',
  '192.168.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::7f00:1',
  '64:ff9b::a00:1',
  '2002:a00:1::',
  '2001::1',
  'fc00::1',
  'fd12::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
]
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '11.0.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.167.0.1',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00::1',
]

t.test('by default everything but public unicast is denied', (t) => {
  const denied = deniedRanges([])
  for (const address of [...METADATA, ...PRIVATE]) t.ok(holds(denied, address), address)
  for (const address of PUBLIC) t.notOk(holds(denied, address), address)
  t.end()
})

t.test('an allowed block opens itself and nothing around it', (t) => {
  const denied = deniedRanges(['10.1.0.0/16', 'fd12::/16'])
  for (const address of ['10.1.0.0', '10.1.255.255', 'fd12::5']) t.notOk(holds(denied, address), address)
  for (const address of ['10.0.255.255', '10.2.0.0']) t.ok(holds(denied, address), address)
  t.ok(holds(denied, 'fd13::5'))
  t.ok(holds(denied, '::ffff:10.1.0.1'), 'the mapped spelling stays denied')
  t.end()
})

t.test('metadata addresses are denied whatever is allowed', (t) => {
  for (const allowed of [['0.0.0.0/0', '::/0'], METADATA, ['169.254.0.0/16', 'fc00::/7', '100.64.0.0/10']])
    for (const address of METADATA) t.ok(holds(deniedRanges(allowed), address), address)
  t.end()
})

t.test('so is the unspecified address, by which a machine reaches itself', (t) => {
  const denied = deniedRanges(['0.0.0.0/0', '::/0'])
  for (const address of ['0.0.0.0', '::', '::ffff:0.0.0.0']) t.ok(holds(denied, address), address)
  for (const address of ['127.0.0.1', '::1']) t.notOk(holds(denied, address), address)
  t.end()
})

t.test('nor are metadata addresses reached through IPv6 networks that stand for IPv4', (t) => {
  const denied = deniedRanges(['::ffff:0:0/96', '64:ff9b::/96'])
  for (const address of ['::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '64:ff9b::6464:64c8'])
    t.ok(holds(denied, address), address)
  for (const address of ['::ffff:10.0.0.1', '64:ff9b::808:808']) t.notOk(holds(denied, address), address)
  t.end()
})

t.test('both guards hold the same blocks', (t) => {
  const denied = deniedRanges(['10.1.0.0/16'])
  const first = resolvedAddressFilter(denied).ranges
  const second = dialedAddressFilter(denied, { addresses: [], port: 1 })
  const permissions = second.typed_config.rules.policies.not_public.permissions
  t.same(
    permissions.map(({ matcher }) => matcher.typed_config.upstream_ip),
    first,
  )
  t.equal(first.length, denied.length)
  t.end()
})

t.test('an address that is no CIDR block is refused with its text', (t) => {
  t.throws(() => deniedRanges(['10.0.0.0/8', 'office']), /"office"/)
  t.end()
})
