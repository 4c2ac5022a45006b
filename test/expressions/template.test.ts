import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import type { Resolve } from '../../src/expressions/types.ts'

const { parse } = createExpressions()

const SSN = '111-22-3333'
const TOKENS: Readonly<Record<string, Json>> = {
  ssn: SSN,
  card: { number: '4242424242424242', expiration_month: 11, expiration_year: 2025, cvc: '123' },
  list: [1, 'b', null],
  yes: true,
  ten: 10,
  none: null,
  '815029c2-29ec-4fc2-8cd4-99feb3ee582c': 'by uuid',
  "it's an id: 5": 'odd',
  '4242428842424242': 'by alias',
  '-dash': 'dash',
  size: 'not a property',
  __proto__id: 'proto',
  evil: "{{ ssn }} {% if true %}{{ 'x' }}",
  äöü: 'umlaut',
}

const resolve: Resolve = (id) =>
  Object.hasOwn(TOKENS, id)
    ? { data: TOKENS[id] as Json, token: { id, type: 'token', data: TOKENS[id] as Json } }
    : undefined

const VALUES: readonly (readonly [text: string, value: Json])[] = [
  ['{{ssn}}', SSN],
  ['{{ ssn }}', SSN],
  ['{{-ssn-}}', SSN],
  ['{{ 815029c2-29ec-4fc2-8cd4-99feb3ee582c }}', 'by uuid'],
  ["{{ it's an id: 5 }}", 'odd'],
  ["{{ it's an id: 5 | upcase }}", 'ODD'],
  ['{{ äöü }}', 'umlaut'],
  ['{{ -dash }}', 'dash'],
  ['{{ size }}', 'not a property'],
  ['{{ __proto__id }}', 'proto'],
  ['{{ 4242428842424242 }}', 'by alias'],
  ['{{ card }}', TOKENS.card as Json],
  ['{{ list }}', [1, 'b', null]],
  ['{{ yes }}', true],
  ['{{ ten }}', 10],
  ['{{ none }}', null],
  ['{{ token: ten }}', { id: 'ten', type: 'token', data: 10 }],
  ['{{token:ten}}', { id: 'ten', type: 'token', data: 10 }],
  ["{{ token: card | json: '$.data.number' }}", '4242424242424242'],
  ["{{ card | json: '$.expiration_month' }}", 11],
  ["{{ card | json: '$.expiration_month' | to_string }}", '11'],
  ["{{ card | json: '$.cvc' | to_number }}", 123],
  ["{{ card | card_exp: 'MM/YY' }}", '11/25'],
  ["{{ card | json: '$.nope' | default: 'x' }}", 'x'],
  ['{{ none | default: 5 }}', 5],
  ["{{ list | join: '|' }}", '1|b|'],
  ['{{ list | size }}', 3],
  ['{{ list | first }}', 1],
  ["{{ ssn | remove: '-' }}", '111223333'],
  ["{{ ssn | split: '-' | last }}", '3333'],
  ["{{ ssn | append: ' }} | ' }}", `${SSN} }} | `],
  ['{{ ten | plus: 1 | times: 2 }}', 22],
  ["{{ 'literal' }}", 'literal'],
  ['{{ "it\'s" }}', "it's"],
  ["{{ 'a|b}}' | upcase }}", 'A|B}}'],
  ['{{ 5 }}', 5],
  ['{{ -1.50 }}', -1.5],
  ['{{ 5 | plus: 2 }}', 7],
  // text around: everything concatenates
  [' {{ ten }}', ' 10'],
  ['{{ ten }}{{ ten }}', '1010'],
  ['Hello {{ ssn }}, {{ ten | to_number }}!', `Hello ${SSN}, 10!`],
  ['{{ card }} ', `${JSON.stringify(TOKENS.card)} `],
  ['[{{ list }}]', '[[1,"b",null]]'],
  ['<{{ none }}>', '<>'],
  ['<{{ yes }}>', '<true>'],
  // tags are text
  ['{% if false %}', '{% if false %}'],
  ['{% if false %}{{ ten }}{% endif %}', '{% if false %}10{% endif %}'],
  ['{% raw %}{{ ten }}{% endraw %}', '{% raw %}10{% endraw %}'],
  // values are data
  ['{{ evil }}', "{{ ssn }} {% if true %}{{ 'x' }}"],
  ['a {{ evil }}', "a {{ ssn }} {% if true %}{{ 'x' }}"],
]

for (const [text, value] of VALUES)
  t.test(`${text} gives ${JSON.stringify(value)}`, async (t) => {
    const template = parse(text)
    t.strictSame(template.evaluate(resolve), value)
    const rendered = value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
    t.equal(template.render(resolve), rendered)
  })

const REJECTED_TEXTS = [
  '{{ unknown }}',
  '{{ token: unknown }}',
  '{{ token: }}',
  '{{{ ssn }}}',
  '{{ {{ ssn }} }}',
  '{{ a/b }}',
  '{{ a\0b }}',
  '{{ ssn[0] }}',
  `{{ ${'i'.repeat(401)} }}`,
  '{{ ssn | nope }}',
  '{{ ssn | nope: 1 | upcase }}',
  '{{ ssn | }}',
  '{{ ssn || upcase }}',
  '{{ ssn | upcase | }}',
  '{{ ssn | reveal_last, 4 }}',
  '{{ ssn | upcase ) }}',
  '{{ ssn | append: ssn }}',
  '{{ ssn | append: v }}',
  '{{ ssn | append: (1..5) }}',
  "{{ ssn | append: 'a'.size }}",
  "{{ ssn | where_exp: 'i', 'i' }}",
  '{{ ssn | push: 1 }}',
  '{{ ssn | raw }}',
  '{{ ssn | constructor }}',
  "{{ 'now' | date: '%999999999d' }}",
  `{{ ssn ${'| upcase '.repeat(33)}}}`,
  '{{ ten | divided_by: 0 }}',
]

for (const text of REJECTED_TEXTS)
  t.test(`${text.slice(0, 60)} is rejected without quoting the value`, async (t) => {
    try {
      t.fail(`gave ${JSON.stringify(parse(text).evaluate(resolve))}`)
    } catch (error) {
      t.ok(error instanceof AppError)
      t.match(error, { code: 'invalid_expression' })
      t.notMatch((error as AppError).message, new RegExp(SSN))
    }
  })

t.test('an unknown filter is an error with its name', async (t) => {
  t.throws(() => parse('{{ ssn | frobnicate }}'), { message: /"frobnicate"/ })
})

t.test('a template lists each token once, and no literals', async (t) => {
  t.strictSame(parse("{{ a1b }} {{ token: c2d }} {{ a1b | upcase }} {{ 'x' }} {{ 5 }}").ids, ['a1b', 'c2d'])
})

t.test('a template is single only when its text is exactly one expression', async (t) => {
  t.equal(parse('{{ ssn | upcase }}').single, true)
  t.equal(parse('  {{- ssn -}}  ').single, true)
  for (const text of [' {{ ssn }}', '{{ ssn }}.', '{{ ssn }}{{ ssn }}', 'text', ''])
    t.equal(parse(text).single, false, text)
})

t.test('values that multiply beyond the size limit are rejected before they are built', async (t) => {
  const big = { data: 'x'.repeat(1_000_000), token: null }
  t.throws(() => parse('{{ big }}'.repeat(50)).evaluate(() => big), { code: 'too_large' })
  const many = { data: Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)), token: null }
  t.throws(() =>
    parse(`{{ many | join: '${'y'.repeat(900)}' ${'| split: "y" | join: "yyyyyyyyy" '.repeat(3)}}}`).render(
      () => many,
    ),
  )
})
