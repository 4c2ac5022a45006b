import t from 'tap'
import { Type } from 'typebox'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { type Issue, issuesAt } from '../../../src/kernel/check/issues.ts'
import { checkTokenType } from '../../../src/kernel/check/token-type.ts'
import type { TokenType } from '../../../src/sdk/index.ts'
import { typeOf } from '../kit.ts'

const expressions = createExpressions()

const issuesOf = (rest: Partial<Record<keyof TokenType, unknown>>): string[] => {
  const issues: Issue[] = []
  checkTokenType(typeOf(rest), expressions, issuesAt('type', issues))
  return issues.map(({ location: place, message, fix }) => `${place}: ${message} ${fix}`)
}

const TABLE: readonly (readonly [string, Partial<Record<keyof TokenType, unknown>>, RegExp])[] = [
  ['a bad name', { name: 'Locker' }, /its name is not valid/],
  ['a name past 50', { name: 'x'.repeat(51) }, /its name is not valid/],
  ['no title', { title: '' }, /it has no title/],
  ['an unknown member', { index: [] } as never, /a token type has no member "index"/],
  ['no container', { container: undefined }, /container: undefined is not a container/],
  ['a container without its last slash', { container: '/pci/high' }, /"\/pci\/high" is not a container/],
  ['a container in capitals', { container: '/PCI/' }, /"\/PCI\/" is not a container/],
  ['no schema', { data: 'string' }, /data: there is no schema/],
  ['a schema that does not compile', { data: { type: 'text' } }, /data: the schema does not compile/],
  ['a mask that does not parse', { mask: '{{ data.code | nosuchfilter }}' }, /mask: it does not parse/],
  ['a mask unclosed deep inside', { mask: { a: ['{{ data.code'] } }, /mask: it does not parse/],
  ['a fingerprint that does not parse', { fingerprint: '{{ | }}' }, /fingerprint: it does not parse/],
  ['a fingerprint of a number', { fingerprint: 3 }, /fingerprint: it is not an expression/],
  ['an expression past 400', { fingerprint: 'x'.repeat(401) }, /longer than 400 characters/],
  [
    'a search index that does not parse',
    { searchIndexes: ['{{ data }}', '{{'] },
    /searchIndexes\[1\]: it does not parse/,
  ],
  ['eleven search indexes', { searchIndexes: Array(11).fill('{{ data.code }}') }, /there are more than 10/],
  ['search indexes that are no list', { searchIndexes: '{{ data }}' }, /"searchIndexes" is not a list/],
  [
    'an unknown check',
    { checks: [{ check: 'mod11', at: '/code' }] },
    /there is no check "mod11".*luhn, aba, iban/,
  ],
  ['a check of nothing', { checks: [{ check: 'luhn', at: '/zip' }] }, /checks\[0\]: "\/zip" names no member/],
  ['a pointer that is none', { writeOnly: ['pin'] }, /writeOnly\[0\]: "pin" is not a JSON pointer/],
  [
    'an ephemeral member that is none',
    { ephemeral: [{ at: '/zip', seconds: 1 }] },
    /ephemeral\[0\]: "\/zip" names/,
  ],
  [
    'ephemeral for no time',
    { ephemeral: [{ at: '/pin', seconds: 0 }] },
    /"seconds" is not a whole number above 0/,
  ],
]

for (const [what, rest, issue] of TABLE)
  t.test(`a token type with ${what} has that one issue`, async (t) => {
    const issues = issuesOf(rest)
    t.equal(issues.length, 1, issues.join('\n'))
    t.match(issues[0], issue)
  })

for (const mask of [
  '{{ data.pin }}',
  '{{ data }}',
  '{{ data | stringify | last4 }}',
  "{{ data['pin'] }}",
  '{{ data | json: "$.pin" }}',
  '{{ data.pin | reveal_last: 1 }}',
  '{{ data.pin, reveal_last: 4 }}',
  { code: '{{ data.code }}', more: [{ pin: 'p{{data.pin}}' }] },
])
  t.test(`the mask ${JSON.stringify(mask)} may not show a write-only member`, async (t) => {
    const issues = issuesOf({ mask, writeOnly: ['/pin'] })
    t.equal(issues.length, 1, issues.join('\n'))
    t.match(issues[0], /type › mask: it shows "\/pin", which must never be returned/)
  })

for (const mask of ['{{ data.code | last4 }}', { code: '{{ data.code }}', note: 'pin' }, '{{ data.pinned }}'])
  t.test(`the mask ${JSON.stringify(mask)} shows nothing of the pin`, async (t) => {
    t.same(issuesOf({ mask, writeOnly: ['/pin'] }), [])
  })

t.test('a nested write-only member is found in a mask of its parent', async (t) => {
  const data = Type.Object({
    owner: Type.Object({ name: Type.String(), ssn: Type.Optional(Type.Integer()) }),
  })
  t.match(issuesOf({ data, writeOnly: ['/owner/ssn'], mask: '{{ data.owner | stringify }}' }), [
    /it shows "\/owner\/ssn"/,
  ])
  t.same(issuesOf({ data, writeOnly: ['/owner/ssn'], mask: '{{ data.owner.name }}' }), [])
})

t.test('a token type that uses every feature has no issue', async (t) => {
  t.same(
    issuesOf({
      checks: [{ check: 'luhn', at: '/code' }],
      writeOnly: ['/pin'],
      ephemeral: [{ at: '/pin', seconds: 60 }],
      mask: { code: '{{ data.code | reveal_last: 4 }}' },
      fingerprint: '{{ data.code }}|{{ metadata.country }}',
      searchIndexes: ['{{ data.code | last4 }}'],
      normalize: (data: unknown) => data,
      check: () => [],
    }),
    [],
  )
  t.same(issuesOf({ data: {}, writeOnly: ['/anything/below'] }), [], 'a free schema may hold any member')
})
