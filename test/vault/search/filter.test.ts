import t from 'tap'
import { filterNode } from '../../../src/vault/search/filter.ts'

const term = (text: string) => Buffer.from(text)

t.test('an empty filter adds no condition', async (t) => {
  for (const filter of [{}, { ids: [] }, { query: '' }, { query: '  ' }, { metadata: {} }])
    t.equal(filterNode(filter, term), undefined)
})

t.test('values of one member are alternatives, members are combined with AND', async (t) => {
  t.same(
    filterNode(
      { ids: ['a', 'b'], types: ['card'], containers: ['/PCI', '/'], metadata: { k: 'v' }, query: 'data:x' },
      term,
    ),
    {
      kind: 'and',
      nodes: [
        {
          kind: 'or',
          nodes: [
            { kind: 'equals', field: 'id', value: 'a' },
            { kind: 'equals', field: 'id', value: 'b' },
          ],
        },
        { kind: 'equals', field: 'type', value: 'card' },
        {
          kind: 'or',
          nodes: [
            { kind: 'prefix', field: 'container', value: '/pci/' },
            { kind: 'prefix', field: 'container', value: '/' },
          ],
        },
        { kind: 'metadata', key: 'k', value: 'v' },
        { kind: 'term', term: term('x') },
      ],
    },
  )
})

t.test('malformed and unlimited filters are invalid', async (t) => {
  const many = Array(101).fill('a')
  const rejected = [
    { containers: ['pci'] },
    { ids: many },
    { types: many },
    { fingerprints: many },
    { query: 'x' },
  ]
  for (const filter of rejected) t.throws(() => filterNode(filter, term), { code: 'invalid' })
})
