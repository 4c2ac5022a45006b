import t from 'tap'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'

const { parseStored, evaluateMask } = createExpressions()

const data = {
  number: '4242424242424242',
  expiration_month: 4,
  expiration_year: 2030,
  cvc: '123',
  tags: ['a', 'b'],
  holder: { name: 'John Doe' },
}
const variables = { data, metadata: { color: 'red' } }

const VALUES: readonly (readonly [text: string, value: Json])[] = [
  ['{{ data.number }}', data.number],
  ['{{ data.number | reveal_last: 4 }}', 'XXXXXXXXXXXX4242'],
  ['{{ data.expiration_month }}', 4],
  ['{{ data.expiration_month | to_string }}', '4'],
  ['{{ data }}', data],
  ['{{ data.tags }}', ['a', 'b']],
  ['{{ data.tags[1] }}', 'b'],
  ['{{ data["number"] | last4 }}', '4242'],
  ['{{ data.holder.name | split: " " | last | upcase }}', 'DOE'],
  ['{{ metadata.color }}', 'red'],
  ['{{ data | json: "$.holder.name" }}', 'John Doe'],
  ['{{- data.number | last4 -}}', '4242'],
  // undefined is null
  ['{{ data.nope }}', null],
  ['{{ data.nope.deeper }}', null],
  ['{{ nope }}', null],
  ['{{ data.nope | reveal_last: 4 }}', null],
  ['{{ data.nope | default: "x" }}', 'x'],
  ['{{ data.constructor }}', null],
  ['{{ data.__proto__ }}', null],
  ['{{ toString }}', null],
  // mixed text
  ['{{ data.number }}|{{ metadata.color }}', '4242424242424242|red'],
  ['{{ data.expiration_month }} ', '4 '],
  ['<{{ data.nope }}>', '<>'],
  ['x{{ data.holder }}', 'x{"name":"John Doe"}'],
  ['no expression', 'no expression'],
  ['', ''],
  // tags are text
  [
    '{% if data.cvc %}has cvc{% else %}no cvc{% endif %}',
    '{% if data.cvc %}has cvc{% else %}no cvc{% endif %}',
  ],
  ['{% for tag in data.tags %}{{ tag | upcase }};{% endfor %}', '{% for tag in data.tags %};{% endfor %}'],
  ['{% raw %}{{ data.cvc }}{% endraw %}', '{% raw %}123{% endraw %}'],
  ['{% include "x" %}', '{% include "x" %}'],
  // white space is eaten on the side of the dash
  ['a {{- data.cvc }} b', 'a123 b'],
  ['a {{ data.cvc -}} b', 'a 123b'],
  ["{{ 'a }} b' | append: \"'\" }}", "a }} b'"],
  // a comma where a pipe belongs is read as one, so that the number stays masked
  ['{{ data.number, reveal_last: 4 }}', 'XXXXXXXXXXXX4242'],
  ['{{ data.number , reveal_last: 4, "#" }}', '############4242'],
  ['{{ data.number, last4, upcase }}', '4242'],
  ['card {{ data.number, reveal_last: 4 }}', 'card XXXXXXXXXXXX4242'],
]

for (const [text, value] of VALUES)
  t.test(`${JSON.stringify(text)} gives ${JSON.stringify(value)}`, async (t) => {
    const expression = parseStored(text)
    t.strictSame(expression.evaluate(variables), value)
    const rendered = value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
    t.equal(expression.render(variables), rendered)
  })

const REJECTED_TEXTS = [
  '{{ }}',
  '{{ data.number',
  '{{ data.number | nope }}',
  '{{ data.number, nope: 4 }}',
  '{{ data.number, 4 }}',
  '{{ data.number ) | reveal_last: 4 }}',
  '{{ data.number reveal_last: 4 }}',
  'x {{ data.number ) | reveal_last: 4 }}',
  '{{ data.number | }}',
  '{{ data.number | last4',
  "{{ data.number | append: 'x }}",
  ...[
    'where',
    'map',
    'sum',
    'find',
    'find_index',
    'has',
    'reject',
    'sort',
    'sort_natural',
    'uniq',
    'group_by',
  ].map((name) => `{{ data.tags | ${name}: "a" }}`),
  ...['concat', 'compact', 'reverse', 'push', 'raw', 'truncatewords', 'strip_html', 'newline_to_br'].map(
    (name) => `{{ data.tags | ${name} }}`,
  ),
  '{{ data.number | pad_left: 999999999, "x" }}',
  '{{ "now" | date: "%1000000000d" }}',
  '{{ "now" | date: "%Y", "Europe/Berlin" }}',
  'x'.repeat(5_000),
]

for (const text of REJECTED_TEXTS)
  t.test(`${JSON.stringify(text.slice(0, 60))} is rejected`, async (t) => {
    t.throws(() => parseStored(text).evaluate(variables), { name: 'AppError', code: 'invalid_expression' })
  })

t.test('expressions in a value are never evaluated', async (t) => {
  const hostile = { data: "{{ metadata.color }}{% assign x = 1 %}{{ 'x' }}", metadata: { color: 'red' } }
  t.equal(parseStored('{{ data }}').evaluate(hostile), hostile.data)
  t.equal(parseStored('a{{ data }}').evaluate(hostile), `a${hostile.data}`)
})

t.test('a mask keeps its shape, and each string in it is an expression', async (t) => {
  t.strictSame(
    evaluateMask(
      {
        number: '{{ data.number, reveal_last: 4 }}',
        expiration_month: '{{ data.expiration_month }}',
        list: ['{{ data.nope }}', 1, true, null, { deep: 'plain' }],
      },
      { data },
    ),
    { number: 'XXXXXXXXXXXX4242', expiration_month: 4, list: [null, 1, true, null, { deep: 'plain' }] },
  )
  t.equal(evaluateMask('{{ data.number | last4 }}', { data }), '4242')
})
