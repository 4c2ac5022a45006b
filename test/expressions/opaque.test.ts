import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { FILTERS } from '../../src/expressions/filters/index.ts'
import type { Opacity } from '../../src/expressions/types.ts'

/** Expressions over values that the sender of a request may not see. */

const { parse } = createExpressions({ filters: { swap: (value) => value } })

const evaluate = (expression: string, data: Json, opacity?: Opacity): Json =>
  parse(`{{ id | ${expression} }}`).evaluate(() => ({ data, token: { data }, opacity }))

/** Filters of complete values: in a URL too, and elsewhere only. */
const ANYWHERE: readonly string[] = ['json', "json: '$'", 'stringify', 'to_base16', 'to_string']
const NOT_IN_URLS: readonly string[] = [
  "append: 'a'",
  'base64_encode',
  'downcase',
  'escape',
  "hmac: 'sha-256', 'key'",
  "prepend: 'é'",
  'to_base64',
  'upcase',
  'url_encode',
]
const nameOf = (filter: string): string => filter.split(':', 1)[0] as string

t.test('filters that see parts of a value, or test it, are rejected for an opaque one', async (t) => {
  const allowed = [...FILTERS].filter(([, { forOpaque }]) => forOpaque !== undefined).map(([name]) => name)
  t.same(allowed.sort(), [...new Set(['card_exp', ...[...ANYWHERE, ...NOT_IN_URLS].map(nameOf)])].sort())
  for (const expression of [
    "remove: 's'",
    "upcase | replace: 'S', '1' | to_string",
    'to_number',
    "strip: 's'",
    "split: 's' | size",
    "json: '$[?(@ == 1)]'",
    "default: 'x'",
    'plus: 1',
    "date: '%Y'",
    'base64_decode',
    'slice: 0',
    'first',
    'size',
    'last4',
    "card_mask: 'false', 'false', '\"', '01234'",
    "card_bin: '4'",
    "reveal_last: 0, '\"'",
    "pad_left: 20, '\"'",
    'swap',
  ])
    for (const opacity of ['url', 'text'] as const)
      t.throws(() => evaluate(expression, 's', opacity), { code: 'invalid_expression' }, expression)
  for (const filter of NOT_IN_URLS)
    t.throws(
      () => evaluate(filter, 's', 'url'),
      { message: new RegExp(`"${nameOf(filter)}" works on a part of a value or tests it`) },
      filter,
    )
  t.equal(evaluate("remove: 's'", 'set'), 'et', 'the sender sees this one')
  t.equal(
    parse('{{ id }}').evaluate(() => ({ data: 's', token: {}, opacity: 'url' })),
    's',
  )
})

t.test('whether allowed filters fail does not depend on the characters of a value', async (t) => {
  const fails = (expression: string, data: Json, opacity: Opacity): boolean => {
    try {
      evaluate(expression, data, opacity)
      return false
    } catch (thrown) {
      if (thrown instanceof AppError) return true
      throw thrown
    }
  }
  const chain = (from: readonly string[]) =>
    fc.array(fc.constantFrom(...from), { minLength: 1, maxLength: 6 }).map((filters) => filters.join(' | '))
  const value = fc.string({ unit: 'binary-ascii', minLength: 6, maxLength: 6 })
  for (const [opacity, filters] of [
    ['url', ANYWHERE],
    ['text', [...ANYWHERE, ...NOT_IN_URLS]],
  ] as const)
    fc.assert(
      fc.property(
        chain(filters),
        value,
        value,
        (expression, one, other) => fails(expression, one, opacity) === fails(expression, other, opacity),
      ),
      { numRuns: 300 },
    )
  t.pass('for 600 chains')
})

t.test('variables are opaque: whole values only, and arguments of few filters', async (t) => {
  const SECRET = { request: { body: 'body', headers: {} }, configuration: { secret: 's' } } as never
  const render = (text: string): string =>
    parse(text, undefined, () => {}).render(() => undefined, undefined, SECRET)
  for (const text of [
    "{{ request.body | base64_decode | remove: 'a' }}",
    '{{ configuration.secret | slice: 0 }}',
    "{{ 's' | remove: configuration.secret | to_number }}",
    "{{ '' | append: configuration.secret | size }}",
  ])
    t.throws(() => render(text), { code: 'invalid_expression' }, text)
  t.match(
    render("{{ request.body | hmac: 'sha-256', configuration.secret | to_base16 | downcase }}"),
    /^[\da-f]{64}$/,
  )
  t.equal(render("{{ 'Bearer ' | append: configuration.secret }}"), 'Bearer s')
})
