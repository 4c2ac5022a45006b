import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { parseCidr } from '../../src/common/cidr.ts'
import { holds, subtract } from '../../src/egress/cidr.ts'

t.test('parses blocks and bare addresses, and rejects others by name', (t) => {
  t.same(parseCidr('10.1.0.0/16'), { address: '10.1.0.0', prefixLength: 16 })
  t.same(parseCidr(' 10.1.2.3 '), { address: '10.1.2.3', prefixLength: 32 })
  t.same(parseCidr('FD00::/8'), { address: 'fd00::', prefixLength: 8 })
  t.same(parseCidr('::1'), { address: '::1', prefixLength: 128 })
  for (const text of [
    '',
    'x',
    '10.1',
    '0x7f.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '::/129',
    '1.2.3.4/8/8',
    'fe80::1%lo',
    'host.test',
  ])
    t.throws(() => parseCidr(text), text)
  t.end()
})

t.test('an exclusion splits a block into the rest of it', (t) => {
  t.same(
    subtract([parseCidr('10.0.0.0/8')], [parseCidr('10.1.0.0/16')]).map(
      ({ address, prefixLength }) => `${address}/${prefixLength}`,
    ),
    [
      '10.0.0.0/16',
      '10.2.0.0/15',
      '10.4.0.0/14',
      '10.8.0.0/13',
      '10.16.0.0/12',
      '10.32.0.0/11',
      '10.64.0.0/10',
      '10.128.0.0/9',
    ],
  )
  t.same(subtract([parseCidr('10.0.0.0/8')], [parseCidr('0.0.0.0/0')]), [])
  t.same(subtract([parseCidr('10.0.0.0/8')], [parseCidr('fc00::/7')]), [parseCidr('10.0.0.0/8')])
  t.end()
})

const address = fc.oneof(
  fc.ipV4().map((text) => text),
  fc.ipV6().filter((text) => ipaddr.IPv6.isValid(text)),
)
const cidr = fc.tuple(address, fc.nat(128)).map(([text, length]) => {
  const bits = ipaddr.parse(text).kind() === 'ipv4' ? 32 : 128
  return parseCidr(`${text}/${length % (bits + 1)}`)
})

t.test('an address is in the difference exactly when it is in a block and in no exclusion', (t) => {
  fc.assert(
    fc.property(
      fc.array(cidr, { maxLength: 4 }),
      fc.array(cidr, { maxLength: 4 }),
      address,
      (blocks, holes, tested) => {
        const expected = holds(blocks, tested) && !holds(holes, tested)
        return holds(subtract(blocks, holes), tested) === expected
      },
    ),
    { numRuns: 300 },
  )
  // Random addresses seldom meet small holes; every hole's own address is a sharper question.
  fc.assert(
    fc.property(cidr, cidr, (block, hole) => !holds(subtract([block], [hole]), hole.address)),
    { numRuns: 300 },
  )
  t.pass('for 600 cases')
  t.end()
})

t.test('agrees with another implementation about membership', (t) => {
  fc.assert(
    fc.property(cidr, address, (block, tested) => {
      const parsed = ipaddr.parse(tested)
      const range = ipaddr.parse(block.address)
      const expected =
        parsed.kind() === range.kind() &&
        (parsed as ipaddr.IPv4).match(range as ipaddr.IPv4, block.prefixLength)
      return holds([block], tested) === expected
    }),
    { numRuns: 300 },
  )
  t.pass('for 300 cases')
  t.end()
})
