import t from 'tap'
import { holds } from '../../src/egress/cidr.ts'
import { deniedRanges, dialedAddressFilter, resolvedAddressFilter } from '../../src/egress/envoy-filter.ts'
import { METADATA, PRIVATE } from '../kit/forbidden-addresses.ts'

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
  '2000::1',
  '2001:4860:4860::8888',
  '2a00::1',
  '3ffe:ffff::1',
]

t.test('by default everything but public unicast is denied', (t) => {
  const denied = deniedRanges([])
  for (const address of [...METADATA, ...PRIVATE]) t.ok(holds(denied, address), address)
  for (const address of PUBLIC) t.notOk(holds(denied, address), address)
  t.end()
})

t.test('an allowed block opens only itself', (t) => {
  const denied = deniedRanges(['10.1.0.0/16', 'fd12::/16'])
  for (const address of ['10.1.0.0', '10.1.255.255', 'fd12::5']) t.notOk(holds(denied, address), address)
  for (const address of ['10.0.255.255', '10.2.0.0']) t.ok(holds(denied, address), address)
  t.ok(holds(denied, 'fd13::5'))
  t.ok(holds(denied, '::ffff:10.1.0.1'), 'the mapped spelling stays denied')
  t.end()
})

t.test('metadata addresses are denied even when allowed by a block', (t) => {
  const ranges = ['169.254.0.0/16', 'fc00::/7', '100.64.0.0/10', '168.63.129.0/24', '192.0.0.0/24']
  for (const allowed of [['0.0.0.0/0', '::/0'], METADATA, ranges])
    for (const address of METADATA) t.ok(holds(deniedRanges(allowed), address), address)
  t.end()
})

t.test('the unspecified address is denied even when allowed, since it reaches the host itself', (t) => {
  const denied = deniedRanges(['0.0.0.0/0', '::/0'])
  for (const address of ['0.0.0.0', '::', '::ffff:0.0.0.0']) t.ok(holds(denied, address), address)
  for (const address of ['127.0.0.1', '::1']) t.notOk(holds(denied, address), address)
  t.end()
})

t.test('metadata addresses are denied through IPv6 networks that embed IPv4', (t) => {
  const denied = deniedRanges(['::/0'])
  for (const address of [
    '::ffff:169.254.169.254',
    '::ffff:0:169.254.0.23',
    '::169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::6464:64c8',
    '2002:a9fe:a9fe::1',
  ])
    t.ok(holds(denied, address), address)
  for (const address of ['::ffff:10.0.0.1', '::ffff:0:10.0.0.1', '64:ff9b::808:808', '2002:808:808::1'])
    t.notOk(holds(denied, address), address)
  t.end()
})

t.test('gateway and Envoy deny the same blocks', (t) => {
  const denied = deniedRanges(['10.1.0.0/16'])
  const first = resolvedAddressFilter(denied).ranges
  const second = dialedAddressFilter(denied, { addresses: [], ports: [1] })
  const permissions = second.typed_config.rules.policies.not_public.permissions
  t.same(
    permissions.map(({ matcher }) => matcher.typed_config.upstream_ip),
    first,
  )
  t.equal(first.length, denied.length)
  t.end()
})

t.test('an invalid CIDR block is rejected with its text', (t) => {
  t.throws(() => deniedRanges(['10.0.0.0/8', 'office']), /"office"/)
  t.end()
})
