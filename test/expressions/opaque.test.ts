import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { FILTERS } from '../../src/expressions/filters/index.ts'

/** Expressions over a token whose value the caller may send, and not see. */

const { parse } = createExpressions({ filters: { swap: (value) => value } })

const evaluate = (expression: string, data: Json, isOpaque = true): Json =>
  parse(`{{ id | ${expression} }}`).evaluate(() => ({ data, token: { data }, isOpaque }))

/** Filters that never fail for the characters of a value. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  append: ["append: 'a'"],
  base64_encode: ['base64_encode'],
  capitalize: ['capitalize'],
  card_bin: ['card_bin'],
  card_exp: [],
  card_mask: ['card_mask', "card_mask: 'true', 'true'"],
  downcase: ['downcase'],
  escape: ['escape'],
  first: ['first'],
  hmac: ["hmac: 'sha-256', 'key'"],
  json: ['json', "json: '$.a'"],
  last: ['last'],
  last4: ['last4'],
  pad_left: ["pad_left: 8, '0'"],
  pad_right: ["pad_right: 8, 'é'"],
  prepend: ["prepend: 'a'"],
  reveal_last: ['reveal_last: 2'],
  size: ['size'],
  slice: ['slice: 0', 'slice: 1, 2'],
  stringify: ['stringify'],
  to_base16: ['to_base16'],
  to_base64: ['to_base64'],
  to_string: ['to_string'],
  upcase: ['upcase'],
  url_encode: ['url_encode'],
}

t.test('filters that test or convert a value are rejected for an opaque token', (t) => {
  const allowed = [...FILTERS].filter(([, { forOpaque }]) => forOpaque !== undefined).map(([name]) => name)
  t.same(allowed.sort(), Object.keys(ALLOWED))
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
    'swap',
  ]) {
    t.throws(() => evaluate(expression, 's'), { code: 'invalid_expression' }, expression)
    const [name] = /^[a-z0-9_]+/.exec(expression) ?? []
    if (name && FILTERS.get(name)?.forOpaque === undefined)
      t.throws(() => evaluate(expression, 's'), { message: new RegExp(`"${name}" tests or converts`) })
  }
  t.equal(evaluate("remove: 's'", 'set', false), 'et', 'the caller sees this one')
  t.equal(
    parse('{{ id }}').evaluate(() => ({ data: 's', token: {}, isOpaque: true })),
    's',
  )
  t.end()
})

t.test('whether allowed filters fail does not depend on the letters and digits of a value', (t) => {
  const fails = (expression: string, data: Json): boolean => {
    try {
      evaluate(expression, data)
      return false
    } catch (thrown) {
      if (thrown instanceof AppError) return true
      throw thrown
    }
  }
  const chain = fc
    .array(fc.constantFrom(...Object.values(ALLOWED).flat()), { minLength: 1, maxLength: 6 })
    .map((filters) => filters.join(' | '))
  const text = (from: string) => fc.array(fc.constantFrom(...from), { minLength: 6, maxLength: 6 })
  const value = fc
    .oneof(text('abcxyz'), text('ABCXYZ'), text('0123456789'))
    .map((letters) => letters.join(''))
  fc.assert(
    fc.property(
      chain,
      value,
      value,
      (expression, one, other) => fails(expression, one) === fails(expression, other),
    ),
    { numRuns: 500 },
  )
  t.pass('for 500 chains')
  t.end()
})
