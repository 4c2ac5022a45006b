import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { mayHoldExpression } from '../../src/expressions/types.ts'

const evaluate = (filter: (value: Json, ...args: Json[]) => Json, text: string, data: Json) =>
  createExpressions({ filters: { mine: filter } })
    .parseStored(text)
    .evaluate({ data })

t.test('filters of plugins get arguments and keep types', async (t) => {
  t.equal(
    evaluate((value, by) => Number(value) * Number(by), '{{ data | mine: 3 }}', 5),
    15,
  )
  t.strictSame(
    evaluate((value) => ({ value }), '{{ data | mine | json: "$.value" }}', 'x'),
    'x',
  )
})

t.test('a plugin filter is not called for null', async (t) => {
  t.equal(
    evaluate(() => t.fail('was called') as never, '{{ data | mine }}', null),
    null,
  )
})

t.test('a plugin filter sees bytes as base64', async (t) => {
  t.equal(
    evaluate((value) => typeof value, "{{ data | hmac: 'sha-256', 'k' | mine }}", 'x'),
    'string',
  )
})

t.test('an error of a plugin filter is hidden, unless it is an AppError', async (t) => {
  const boom = () => {
    throw new Error('4242424242424242')
  }
  t.throws(() => evaluate(boom, '{{ data | mine }}', 'x'), {
    code: 'invalid_expression',
    message: /^Filter "mine" failed/,
  })
  const own = () => {
    throw new AppError('invalid_expression', 'My words.')
  }
  t.throws(() => evaluate(own, '{{ data | mine }}', 'x'), { message: 'My words.' })
  t.throws(() => evaluate(own, 'y{{ data | mine }}', 'x'), { message: 'My words.' })
})

t.test('a plugin filter that returns no JSON value is an error', async (t) => {
  t.throws(() => evaluate(() => Number.NaN, '{{ data | mine }}', 'x'), { code: 'invalid_expression' })
  t.equal(
    evaluate(() => undefined as never, '{{ data | mine }}', 'x'),
    null,
  )
})

t.test('existing or malformed filter names are rejected at once', async (t) => {
  for (const name of ['last4', 'json', 'With Space', '', '9x'])
    t.throws(() => createExpressions({ filters: { [name]: (value) => value } }), /filter/, name)
})

t.test('the filters are exactly those of completions §6 and of plugins', async (t) => {
  const { filters } = createExpressions({ filters: { mine: (value) => value } })
  const names = `json stringify last4 reveal_last reveal card_mask card_bin card_exp pad_left pad_right to_string
    to_number to_boolean alias_preserve_format alias_preserve_length alias_card hmac to_base16 to_base64
    append prepend upcase downcase capitalize strip lstrip rstrip strip_newlines slice first last size split join
    replace replace_first remove remove_first truncate escape url_encode url_decode base64_encode base64_decode
    default plus minus times divided_by modulo round floor ceil abs at_least at_most date mine`
  t.strictSame([...filters.keys()].sort(), names.split(/\s+/).sort())
  t.equal(filters.get('last4')?.('12345'), '2345')
  t.equal(filters.get('last4')?.(null), null)
  t.type(filters.get('hmac')?.('x', 'sha-256', 'k'), 'string')
})

t.test('a text without an opening pair of braces holds no expression', async (t) => {
  t.equal(mayHoldExpression('a { { b } }'), false)
  t.equal(mayHoldExpression('a {{'), true)
})
