import t from 'tap'
import { exceeds } from '../../src/access/grant-subset.ts'
import type { AccessRule, DestinationList, Grants } from '../../src/sdk/index.ts'
import { rule } from '../vault/kit.ts'

const to = (...hosts: string[]): DestinationList => hosts.map((host) => ({ host, ports: [443] }))

const using = (destinations?: DestinationList, more: Partial<AccessRule> = {}): Grants => ({
  permissions: [],
  rules: [
    {
      ...rule('/pci/', 'reveal', ['token:use']),
      ...more,
      ...(destinations === undefined ? {} : { destinations }),
    },
  ],
})

t.test('a rule that uses tokens lies within one that sends values to all of its destinations', (t) => {
  const own = using(to('a.test', 'b.test'))
  t.same(exceeds(own, using(to('a.test'))), [])
  t.same(exceeds(own, using(to('b.test', 'a.test'))), [])
  t.same(exceeds(own, using(to('a.test', 'c.test'))), ['rules[0]'])
  t.same(exceeds(own, using()), ['rules[0]'])
  t.same(exceeds(own, { permissions: ['token:use'], rules: [] }), ['permissions'])
  t.same(exceeds(using(), using(to('a.test'))), [])
  t.end()
})

t.test('destinations of a rule do not limit reads', (t) => {
  const reading = (destinations?: DestinationList) => using(destinations, { permissions: ['token:read'] })
  t.same(exceeds(reading(to('a.test')), reading()), [])
  t.end()
})
