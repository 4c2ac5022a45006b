import t from 'tap'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { type Issue, issuesAt } from '../../../src/kernel/check/issues.ts'
import { checkTokenType } from '../../../src/kernel/check/token-type.ts'
import type { Json, TokenType } from '../../../src/sdk/index.ts'
import { typeOf } from '../kit.ts'

const expressions = createExpressions()

const issuesOf = (rest: Partial<Record<keyof TokenType, unknown>>): string[] => {
  const issues: Issue[] = []
  checkTokenType(typeOf(rest), expressions, issuesAt('type', issues))
  return issues.map(({ location: place, message, fix }) => `${place}: ${message} ${fix}`)
}

type Locker = { readonly code: string; readonly pin?: string }

const TABLE: readonly (readonly [string, Partial<Record<keyof TokenType, unknown>>, RegExp])[] = [
  ['a normalize that is no function', { normalize: 'trim' }, /normalize: it is not a function/],
  ['a check that is no function', { check: [] }, /check: it is not a function/],
  [
    'a normalize that copies a member that is never returned',
    { writeOnly: ['/pin'], normalize: (data: Locker) => ({ ...data, copy: data.pin }) },
    /normalize: it copies "\/pin", which must never be returned, to another member\./,
  ],
  [
    'a normalize that derives from one',
    { writeOnly: ['/pin'], normalize: ({ code, pin }: Locker) => ({ code: `${code}-${String(pin)[0]}` }) },
    /normalize: it copies "\/pin"/,
  ],
  ['a normalize that promises', { normalize: async (data: Json) => data }, /normalize: it is asynchronous/],
  ['a check that promises', { check: async () => [] }, /check: it is asynchronous/],
  ['a check that returns true', { check: () => true }, /check: it does not return a list of issues/],
  ['a check that returns texts', { check: () => ['bad'] }, /check: it does not return a list of issues/],
  [
    'a check whose message holds the value',
    { check: ({ code }: Locker) => [{ at: '/code', message: `${code} is wrong` }] },
    /check: one of its messages holds the value/,
  ],
  [
    'a search index over a member that is never returned',
    { writeOnly: ['/pin'], searchIndexes: ['{{ data.code }}', '{{ data.pin | last4 }}'] },
    /searchIndexes\[1\]: a caller that searches could guess "\/pin"/,
  ],
]

for (const [what, rest, issue] of TABLE)
  t.test(`a token type is rejected for ${what}, and that is the only issue`, async (t) => {
    const issues = issuesOf(rest)
    t.equal(issues.length, 1, issues.join('\n'))
    t.match(issues[0], issue)
  })

t.test('functions that leak nothing are accepted, also ones that throw on generated data', async (t) => {
  t.same(
    issuesOf({
      writeOnly: ['/pin'],
      searchIndexes: ['{{ data.code }}'],
      fingerprint: '{{ data.pin }}',
      normalize: ({ code, pin }: Locker) => ({ code: code.trim(), pin: pin ?? '' }),
      check: ({ pin }: Locker) => (pin === '0000' ? [{ at: '/pin', message: 'must not be 0000' }] : []),
    }),
    [],
  )
  const fussy = () => {
    throw new TypeError('not of ours')
  }
  t.same(issuesOf({ normalize: fussy, check: fussy }), [])
})
