import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { AppError } from '../../../src/common/errors.ts'
import {
  checkClosed,
  closedBody,
  closedText,
  createClosedReader,
} from '../../../src/gateway/surfaces/closed.ts'
import type { Caller } from '../../../src/sdk/index.ts'

const idsIn = (text: string) => closedText({ place: 'x', text: Buffer.from(text).toString('latin1') }).ids

t.test('token ids are found in every spelling of an expression', async (t) => {
  for (const text of [
    '{{ id }}',
    '{{id}}',
    'a {{-id-}} b',
    '{{ id | json: "$.a" }}',
    '{{ token: id }}',
    '{{ token : id | last4 }}',
    '{{{ id }}}',
    '{{ other {{ id }}',
    '%7B%7B+id+%7D%7D',
    '%7b{%20id%20|%20x}}',
    '\\u007b\\u007B id \\u007d}',
    '{"a":"{{ \\u0069d }}"}',
    '{"a":"{{\\nid\\t}}"}',
    '{"a":"{{\\r\\f id \\u007c json: \\"$.a\\" }}"}',
    '{"a":"{{\\u002did\\u002D}}"}',
    '<a>{{&#10;&#x69;d&#x0A;}}</a>',
    '<a>{{ id &#124; last4 }}</a>',
    '{{{{{{{{ id }}',
    '{{ a | b {{ id }}',
  ])
    t.ok(idsIn(text).includes('id'), text)
  t.same(idsIn('{{ schlüssel }}'), ['schlüssel'])
  t.same(idsIn('{{ 4242 4242 }}'), ['4242 4242'])
  t.same(idsIn('{{ a\\"b }}'), ['a"b'], 'a quote in an id')
})

t.test('other braces contain no id', async (t) => {
  for (const text of [
    '',
    '{ id }',
    '{{ id }',
    '{{ id | x }',
    '{{}}',
    '{{ }}',
    '{{#if a}}',
    '{{ a/b }}',
    '{ { id } }',
    '{{ a ? b }}',
    '{{%00id}}',
    '{"a":"{{\\u0000id}}"}',
  ])
    t.same(idsIn(text), [], text)
})

const idsOfParts = (parts: readonly string[]): ReadonlySet<string> => {
  const reader = createClosedReader('text/plain', undefined)
  return new Set(
    parts.flatMap((part, index) =>
      reader
        .push(Buffer.from(part), index === parts.length - 1)
        .occurrences.flatMap(({ parse }) => parse().ids),
    ),
  )
}

t.test('a text in parts has the ids of the complete text, for each split', async (t) => {
  const text =
    'x {{ one }} %7B%7B+two+%7C+json%7D%7D {{ broken { \\u007b\\u007b three \\u007d\\u007d y {{ four'
  for (let cut = 0; cut <= text.length; cut++) {
    const ids = idsOfParts([text.slice(0, cut), text.slice(cut)])
    t.same([...ids], ['one', 'two', 'three'], `cut at ${cut}`)
  }
  t.same([...idsOfParts([...text])], ['one', 'two', 'three'])
})

t.test('texts of only braces take linear time', async (t) => {
  for (const text of [
    '{'.repeat(2e6),
    '{{a|'.repeat(5e5),
    '{{ a '.repeat(4e5),
    '}'.repeat(2e6),
    '%7b'.repeat(7e5),
  ])
    t.same(idsIn(text), [])
})

t.test('a body is scanned as text whatever its type, decoded where possible', async (t) => {
  const idsOf = async (bytes: Buffer | string, contentType?: string, contentEncoding?: string) =>
    (await closedBody({ bytes: Buffer.from(bytes), contentType, contentEncoding }, 1_000_000)).ids
  t.same(await idsOf('{"a":"{{ id }}"}', 'application/json'), ['id'])
  t.same(await idsOf('not json {{ id }}', 'application/json'), ['id'])
  t.same(await idsOf(Buffer.from('{"a":"{{ id }}"}', 'utf16le'), 'application/json'), ['id'])
  t.same(await idsOf('{{ id }}', 'nonsense'), ['id'])
  t.same(await idsOf('a=%7B%7B+id+%7D%7D', 'application/x-www-form-urlencoded'), ['id'])
  t.same(await idsOf(gzipSync('{{ id }}'), 'text/plain', 'gzip'), ['id'])
  t.same(await idsOf('{{ id }}', 'text/plain', 'gzip'), [], 'what cannot be decoded passes')
  t.same(await idsOf('{{ id }}', 'text/plain', 'zstd'), [])
  t.same(await idsOf('{{ id }}', 'application/octet-stream'), [])
  t.same(await idsOf(`${'x'.repeat(65_530)}{{ across a slice }}`), ['across a slice'])
})

t.test(
  'a token id on a closed surface is expression_on_closed_surface with the place, others pass',
  async (t) => {
    const context = { caller: {} as Caller, now: 0 }
    let asked: readonly string[] = []
    const vault = {
      known: async (ids: readonly string[]) => {
        asked = ids
        return new Map(ids.filter((id) => id === 'known').map((id) => [id, '/general/high/']))
      },
    }
    await checkClosed(vault, [{ place: 'path', ids: [] }], context)
    t.same(asked, [], 'nothing is looked up without braces')
    await checkClosed(vault, [{ place: 'path', ids: ['a', 'b', 'a'] }], context)
    t.same(asked, ['a', 'b'], 'each once')
    const texts = [
      { place: 'path', ids: ['a'] },
      { place: 'header:x', ids: ['b', 'known'] },
    ]
    await t.rejects(checkClosed(vault, texts, context), {
      code: 'expression_on_closed_surface',
      errors: { 'header:x': [String] },
    } as unknown as AppError)
  },
)
