/** The standard filters against liquidjs, whose they are: a list of values, each with arguments that matter. */
import { Liquid } from 'liquidjs'
import t from 'tap'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { checkExamples, checkRejections } from './table.ts'

const expressions = createExpressions()
const liquid = new Liquid({ ownPropertyOnly: true, timezoneOffset: 0, strictFilters: true })

const TEXTS = [
  '',
  'a',
  '  Blank\t\r\nend \n',
  'a-b-c--',
  'xyxyx',
  '<a href="b">&\'</a>',
  'äß €𝒳𝒳 z',
  'a+b%20c',
  'YQ==',
  '12.5',
  '-3',
]
const VALUES = [...TEXTS, null, true, false, 0, 5, -7.25, 1e21, ['a', 'b', ''], [], [1, null, 'x']]

const FILTERS: Readonly<Record<string, readonly string[]>> = {
  append: ["'x'", '5'],
  prepend: ["'x'", 'nil'],
  upcase: [''],
  downcase: [''],
  capitalize: [''],
  strip: ['', "' -'"],
  lstrip: ['', "'a'"],
  rstrip: ['', "'𝒳z '"],
  strip_newlines: [''],
  split: ["'-'", "''", "'xy'", '5'],
  replace: ["'x', 'yy'", "'-', ''", "'', '-'", "'xyx', 'a'"],
  replace_first: ["'x', '$&'", "'-', ''"],
  remove: ["'x'", "'-'", "'  '"],
  remove_first: ["'x'", "'y'"],
  truncate: ['', '3', "4, ''", "5, '…'", "0, 'abc'"],
  escape: [''],
  url_encode: [''],
  base64_encode: [''],
  slice: ['0', '1, 3', '-2, 2', '-9', '2, 100'],
  first: [''],
  last: [''],
  size: [''],
  join: ['', "'-'"],
  default: ['5', "'x'", '1, allow_false: true'],
  plus: ['1', "'2.5'", "'x'"],
  minus: ['1'],
  times: ['2.5'],
  divided_by: ['4'],
  modulo: ['3', '-3'],
  round: ['', '1', '-1'],
  floor: [''],
  ceil: [''],
  abs: [''],
  at_least: ['3'],
  at_most: ['3'],
}

for (const [name, lists] of Object.entries(FILTERS))
  t.test(`${name} gives the result of liquidjs`, async (t) => {
    for (const args of lists)
      for (const data of VALUES) {
        const text = `{{ data | ${name}${args === '' ? '' : `: ${args}`} }}`
        const expected: unknown = liquid.evalValueSync(text.slice(3, -3), { data })
        t.strictSame(
          expressions.parseStored(text).evaluate({ data }),
          expected ?? null,
          `${text} of ${JSON.stringify(data)}`,
        )
      }
  })

t.test('date prints as liquidjs does', async (t) => {
  const formats = [
    '%a %A %b %B %C %d %e %h %H %I %j %k %l %L %m %M %N %p %P %q %s %S %u %U %w %W %y %Y %z %Z %% %n%t',
    '%-d %_m %05e %^a %#p %10A %3N %:z %-I:%M %Ey %Od %i %',
  ]
  const moments = [
    '2024-02-29T23:05:09.042Z',
    '1999-12-31T00:00:00Z',
    '2023-01-01',
    0,
    '1700000000',
    'no date',
  ]
  for (const format of formats)
    for (const offset of ['0', '-330', '120'])
      for (const data of moments) {
        const text = `data | date: '${format}', ${offset}`
        const expected: unknown = liquid.evalValueSync(text, { data })
        t.equal(expressions.parseStored(`{{ ${text} }}`).evaluate({ data }), expected, `${text} of ${data}`)
      }
})

checkExamples([
  ['a%20b+c', '| url_decode', 'a b c'],
  ['Z3LDvG4', '| base64_decode', 'grün'],
  [{ a: 1 }, '| append: "!"', '{"a":1}!'],
  [[{ a: 1 }, [2]], '| join: ";"', '{"a":1};[2]'],
  ['2024-02-29T23:05:09Z', "| date: '%F %H:%M', '+02:00'", '%F 01:05'],
  ['2024-02-29T23:05:09Z', "| date: '%c|%x|%X'", 'Thu Feb 29 23:05:09 2024|02/29/24|23:05:09'],
  [null, "| date: '%Y'", null],
])

checkRejections([
  ['4242', '| append'],
  ['text', `| remove: '${'a'.repeat(257)}'`],
  ['text', `| split: '${'a'.repeat(257)}'`],
  ['text', `| strip: '${'a'.repeat(257)}'`],
  ['text', `| reveal: 1, 1, 'X', '${'a'.repeat(257)}'`],
  ['a'.repeat(250_001), '| split: ""'],
  ['a'.repeat(250_001), '| replace: "a", "b"'],
  ['a'.repeat(10_000), `| replace: "a", '${'b'.repeat(900)}'`],
  ['no base64!', '| base64_decode'],
  ['%zz', '| url_decode'],
  [10, '| divided_by: 0'],
  ['now', "| date: '%Y', 'Europe/Berlin'"],
  ['now', "| date: '%Y', 'UTC'"],
  ['now', "| date: '%Y', 100000"],
  ['now', "| date: '%257d'"],
  ['now', `| date: '${'%A'.repeat(129)}'`],
  ['text', '| upcase: x: 1'],
])
