import t from 'tap'
import { decide, seesAllListed, seesDataIn, visibility } from '../../src/access/rules.ts'
import type { AccessRule, Disclosure, Grants, TokenPermission } from '../../src/sdk/index.ts'
import { ALL, rule } from '../vault/kit.ts'

const token = { id: 'card-1', container: '/pci/high/' }

/** How a rule may be tied to tokens, and whether it then matches `token` above. */
const SCOPES: readonly (readonly [name: string, scope: Partial<AccessRule>, matches: boolean])[] = [
  ['its container', { container: '/pci/high/' }, true],
  ['its container in capitals', { container: '/PCI/High/' }, true],
  ['its container without the last slash', { container: '/pci/high' }, true],
  ['the container above', { container: '/pci/' }, true],
  ['the root', { container: '/' }, true],
  ['a container below', { container: '/pci/high/eu/' }, false],
  ['a sibling', { container: '/pci/low/' }, false],
  ['a container whose name only begins alike', { container: '/pc/' }, false],
  ['a malformed container', { container: 'pci' }, false],
  ['an empty container', { container: '' }, false],
  ['nothing at all', {}, false],
  ['no conditions', { conditions: [] }, false],
  ['its id', { conditions: [{ attribute: 'id', operator: 'equals', value: 'card-1' }] }, true],
  [
    'the begin of its id',
    { conditions: [{ attribute: 'id', operator: 'starts_with', value: 'card-' }] },
    true,
  ],
  ['another id', { conditions: [{ attribute: 'id', operator: 'equals', value: 'card-2' }] }, false],
  ['its id in capitals', { conditions: [{ attribute: 'id', operator: 'equals', value: 'CARD-1' }] }, false],
  ['an empty id', { conditions: [{ attribute: 'id', operator: 'starts_with', value: '' }] }, false],
  [
    'its container as a condition',
    { conditions: [{ attribute: 'container', operator: 'equals', value: '/PCI/high' }] },
    true,
  ],
  [
    'the container above as a condition that asks for equality',
    { conditions: [{ attribute: 'container', operator: 'equals', value: '/pci/' }] },
    false,
  ],
  [
    'the begin of its container',
    { conditions: [{ attribute: 'container', operator: 'starts_with', value: '/PCI/h' }] },
    true,
  ],
  [
    'two conditions that hold',
    {
      conditions: [
        { attribute: 'container', operator: 'starts_with', value: '/pci/' },
        { attribute: 'id', operator: 'equals', value: 'card-1' },
      ],
    },
    true,
  ],
  [
    'two conditions of which one holds',
    {
      conditions: [
        { attribute: 'container', operator: 'starts_with', value: '/pci/' },
        { attribute: 'id', operator: 'equals', value: 'card-2' },
      ],
    },
    false,
  ],
  [
    'an operator that does not exist',
    { conditions: [{ attribute: 'id', operator: 'matches' as 'equals', value: 'card-1' }] },
    false,
  ],
  [
    'an attribute that does not exist',
    { conditions: [{ attribute: 'type' as 'id', operator: 'equals', value: 'card' }] },
    false,
  ],
]

const DISCLOSURES: readonly Disclosure[] = ['redact', 'mask', 'reveal']

const makeRule = (
  scope: Partial<AccessRule>,
  transform: Disclosure,
  permissions: readonly TokenPermission[],
  priority = 1,
): AccessRule => ({ description: 'a rule', priority, transform, permissions, ...scope })

t.test(
  'the whole table: scope × disclosure × permission granted × permission requested × plain permission',
  async (t) => {
    for (const [name, scope, matches] of SCOPES)
      for (const transform of DISCLOSURES)
        for (const granted of ALL)
          for (const asked of ALL)
            for (const plain of [true, false]) {
              const grants: Grants = {
                permissions: plain ? [asked] : [],
                rules: [makeRule(scope, transform, [granted])],
              }
              const implied = asked === 'token:use' ? 'reveal' : 'mask'
              const expected = matches && granted === asked ? transform : plain ? implied : 'denied'
              if (decide(grants, asked, token) !== expected)
                t.fail(`${name}, ${transform}, grants ${granted}, asked ${asked}, plain ${plain}`)
              const seen = visibility(grants, asked)
              if ((seen === 'all') !== plain) t.fail(`visibility of ${name} with plain ${plain}`)
            }
    t.equal(
      SCOPES.filter(([, , matches]) => matches).length,
      10,
      'the table has scopes that match and scopes that do not',
    )
  },
)

t.test('the rule with the lowest priority number decides, whatever its place in the list', async (t) => {
  const rules = [
    makeRule({ container: '/pci/' }, 'reveal', ['token:read'], 20),
    makeRule({ container: '/pci/high/' }, 'redact', ['token:read'], 3),
    makeRule({ container: '/' }, 'mask', ['token:read'], 100),
  ]
  t.equal(decide({ permissions: [], rules }, 'token:read', token), 'redact')
  t.equal(decide({ permissions: [], rules }, 'token:read', { id: 'x', container: '/pci/low/' }), 'reveal')
  t.equal(decide({ permissions: [], rules }, 'token:read', { id: 'x', container: '/other/' }), 'mask')
})

t.test('a matching rule without the permission is passed over', async (t) => {
  const rules = [
    makeRule({ container: '/pci/' }, 'redact', ['token:create'], 1),
    makeRule({ container: '/pci/' }, 'reveal', ['token:read'], 2),
  ]
  t.equal(decide({ permissions: [], rules }, 'token:read', token), 'reveal')
  t.equal(decide({ permissions: [], rules }, 'token:delete', token), 'denied')
})

t.test('a rule comes before a plain permission', async (t) => {
  const grants = {
    permissions: ['token:read'],
    rules: [makeRule({ container: '/pci/' }, 'redact', ['token:read'])],
  }
  t.equal(decide(grants, 'token:read', token), 'redact')
  t.equal(decide(grants, 'token:read', { id: 'x', container: '/general/high/' }), 'mask')
})

t.test('an unknown disclosure denies', async (t) => {
  const grants = {
    permissions: ['token:read'],
    rules: [makeRule({ container: '/' }, 'everything' as Disclosure, ['token:read'])],
  }
  t.equal(decide(grants, 'token:read', token), 'denied')
})

t.test('visibility lists the conditions of every rule that grants the permission', async (t) => {
  const rules = [
    makeRule({ container: '/PCI' }, 'mask', ['token:read'], 2),
    makeRule(
      { conditions: [{ attribute: 'id', operator: 'equals', value: 'a' }] },
      'redact',
      ['token:read'],
      1,
    ),
    makeRule({ container: '/bank/' }, 'mask', ['token:search'], 3),
    makeRule({}, 'mask', ['token:read'], 4),
  ]
  t.same(visibility({ permissions: [], rules }, 'token:read'), [
    [{ attribute: 'id', operator: 'equals', value: 'a' }],
    [{ attribute: 'container', operator: 'starts_with', value: '/pci/' }],
  ])
  t.equal(visibility({ permissions: [], rules }, 'token:use'), 'none')
})

t.test('grants reveal data of a container, or of all listed tokens, as their rules say', (t) => {
  const read = ['token:read'] as const
  const grants = (rules: readonly AccessRule[], permissions: Grants['permissions'] = []) => ({
    permissions,
    rules,
  })
  const only = (attribute: 'id' | 'container', operator: 'equals' | 'starts_with', value: string) =>
    ({
      description: 'r',
      priority: 1,
      transform: 'mask',
      permissions: read,
      conditions: [{ attribute, operator, value }],
    }) as const
  for (const [seesA, seesListed, of] of [
    [false, false, grants([], [...read])],
    [true, true, grants([], [...read, 'token:use'])],
    [true, true, grants([rule('/', 'reveal', read)])],
    [true, true, grants([rule('/a/', 'reveal', read)])],
    [true, false, grants([rule('/a/', 'reveal', read)], [...read])],
    [false, false, grants([rule('/a/b/', 'reveal', read)], [...read])],
    [true, false, grants([rule('/a/b/', 'mask', read), rule('/a/', 'reveal', read, 2)])],
    [true, false, grants([rule('/b/', 'mask', read), rule('/', 'reveal', read, 2)])],
    [true, true, grants([rule('/', 'reveal', read), rule('/', 'mask', read, 2)])],
    [true, true, grants([rule('/a/', 'mask', read), rule('/a/', 'reveal', ['token:use'])])],
    [false, false, grants([rule('/a/', 'mask', ['token:use'])], [...read, 'token:use'])],
    // one token of the container is masked, and no caller knows which one a guess meets
    [false, false, grants([only('id', 'equals', 'x'), rule('/a/', 'reveal', read, 2)])],
    [true, false, grants([only('container', 'equals', '/b/'), rule('/', 'reveal', read, 2)])],
    [false, false, grants([only('container', 'starts_with', '/a'), rule('/', 'reveal', read, 2)])],
  ] as const) {
    t.equal(seesDataIn(of, '/a/'), seesA, JSON.stringify(of))
    t.equal(seesAllListed(of, 'token:read'), seesListed, JSON.stringify(of))
  }
  t.end()
})
