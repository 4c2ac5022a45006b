import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { LIMITS } from '../../src/expressions/limits.ts'
import { scanText } from '../../src/expressions/scan.ts'
import { charactersRead } from '../kit/reads.ts'

const parts = (text: string) =>
  scanText(text).map((piece) =>
    piece.kind === 'literal' ? text.slice(piece.start, piece.end) : [piece.head, piece.chain],
  )

const CASES: readonly (readonly [text: string, parts: readonly unknown[]])[] = [
  ['', []],
  ['plain { text } }}', ['plain { text } }}']],
  ['{{a}}', [['a', '']]],
  ['{{ a b }}', [['a b', '']]],
  ['{{\n\ta\r\n}}', [['a', '']]],
  [
    '{{a}}{{b}}',
    [
      ['a', ''],
      ['b', ''],
    ],
  ],
  ['x{{a|f}}y', ['x', ['a', '|f'], 'y']],
  ["{{ it's | f: 'x' }}", [["it's", "| f: 'x'"]]],
  ["{{ 'tis }}", [["'tis", '']]],
  ["{{ 'a|b}}c' | f }}", [["'a|b}}c'", '| f']]],
  ['{{ "a\\"}}" }}', [['"a\\"}}"', '']]],
  ['{{ a | f: \'}}\', "|" | g }}', [['a', '| f: \'}}\', "|" | g']]],
  ['{{a}}}', [['a', ''], '}']],
  [' x {{- a -}} y ', [' x', ['a', ''], 'y ']],
  [
    '{{- a | f -}}  {{- b }}',
    [
      ['a', '| f'],
      ['b', ''],
    ],
  ],
  ['{{- -a }}', [['-a', '']]],
  ['{% if x %}{{a}}{% endif %}', ['{% if x %}', ['a', ''], '{% endif %}']],
  ['a } } {{a}}', ['a } } ', ['a', '']]],
]

for (const [text, expected] of CASES)
  t.test(`${JSON.stringify(text)} is split at its expressions`, async (t) => {
    t.strictSame(parts(text), expected)
  })

const REJECTED = [
  '{{',
  '{{ }}',
  '{{}}',
  '{{-}}',
  '{{- -}}',
  '{{ | upcase }}',
  '{{ a',
  '{{ a }',
  "{{ a | f: 'x }}",
  'x {{a}} {{',
  `{{ ${'a'.repeat(LIMITS.expression)} }}`,
]

for (const text of REJECTED)
  t.test(`${JSON.stringify(text.slice(0, 40))} is rejected`, async (t) => {
    t.throws(() => scanText(text), { code: 'invalid_expression' })
  })

t.test('parts are in order, do not overlap, and omit only white space next to a dash', async () => {
  const token = fc.constantFrom(
    '{{a}}',
    '{{ b | f }}',
    '{{-c-}}',
    ' ',
    'x',
    '}',
    '{',
    '|',
    "'",
    '\u00a0',
    '\n',
  )
  fc.assert(
    fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
      const text = tokens.join('')
      let pieces: ReturnType<typeof scanText>
      try {
        pieces = scanText(text)
      } catch {
        return
      }
      let at = 0
      for (const { start, end } of pieces) {
        assert.ok(start >= at && end > start)
        assert.match(text.slice(at, start), /^[ \n]*$/)
        at = end
      }
      assert.match(text.slice(at), /^[ \n]*$/)
    }),
  )
})

t.test('hostile texts are scanned a few times only', async (t) => {
  const size = 1024 * 1024
  for (const unit of ['{{', '{{a}}', "{{'a}}", '{{"', "{{a|b:'", '{{a|', '{', '}}', '{{ '])
    t.test(JSON.stringify(unit), async (t) => {
      const text = unit.repeat(size / unit.length)
      const read = charactersRead(() => {
        try {
          scanText(text)
        } catch (error) {
          t.match(error, { name: 'AppError', code: /invalid_expression|too_large/ })
        }
      })
      t.ok(read > 0 && read < 8 * size, `${read} characters of ${size}`)
    })
})
