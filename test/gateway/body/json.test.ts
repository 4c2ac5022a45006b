import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { Json } from '../../../src/common/json.ts'
import { parseJson } from '../../../src/common/parse-json.ts'
import { CARD, plan, resolve, rewritten, show, VALUES } from './kit.ts'

const TYPE = 'application/json'
const text = async (body: string | Buffer) => (await rewritten(body, TYPE)).toString()

const CASES: readonly (readonly [body: string, sent: string])[] = [
  ['{"a":"{{pan}}"}', '{"a":"4242424242424242"}'],
  ['"{{ pan }}"', '"4242424242424242"'],
  ['["{{ten}}","{{yes}}","{{none}}","{{card}}"]', `[10,true,null,${JSON.stringify(CARD)}]`],
  [
    '["{{ten}} ","x{{yes}}","{{none}}-","{{card}}!"]',
    `["10 ","xtrue","-",${JSON.stringify(`${JSON.stringify(CARD)}!`)}]`,
  ],
  ['{"a":"{{ card | json: \'$.number\' | reveal_last: 4 }}"}', '{"a":"XXXXXXXXXXXX4242"}'],
  ['{"a":"{{ card | json: \\"$.number\\" }}"}', '{"a":"4242424242424242"}'],
  [
    '{"a":"{{ card | json: \\"$[\'number\']\\" | append: \\" \\\\\\" \\" }}"}',
    '{"a":"4242424242424242 \\" "}',
  ],
  // all that is not replaced keeps its bytes
  [
    ' {\t"n" : 1.10 , "big":12345678901234567890,"e":-0.0E+10,\r\n"a":"{{pan}}","a":"\\u00e9\\/","a":"{{ten}}" } \n',
    ' {\t"n" : 1.10 , "big":12345678901234567890,"e":-0.0E+10,\r\n"a":"4242424242424242","a":"\\u00e9\\/","a":10 } \n',
  ],
  // names are never evaluated
  ['{"{{pan}}":"{{pan}}","\\u007b{x":1}', '{"{{pan}}":"4242424242424242","\\u007b{x":1}'],
  ['{"{{pan}}":1}', '{"{{pan}}":1}'],
  // escaped braces and ids
  ['"\\u007b\\u007Bpan}}"', '"4242424242424242"'],
  ['"{\\u007bpan\\u007d}"', '"4242424242424242"'],
  ['"{{\\u0070an}}"', '"4242424242424242"'],
  ['"{{it \\u00e9}}"', '"odd id"'],
  ['"{{it é}}"', '"odd id"'],
  // other strings with braces
  ['["{","\\u007b","{ {","{\\\\{"," {% if %} "]', '["{","\\u007b","{ {","{\\\\{"," {% if %} "]'],
  ['["{% if x %}{{ten}}"]', '["{% if x %}10"]'],
  // values are data
  ['"{{evil}}"', JSON.stringify(VALUES.evil)],
  ['" {{evil}}"', JSON.stringify(` ${VALUES.evil}`)],
  ['"{{text}}"', JSON.stringify(VALUES.text)],
  // lone surrogates stay what they are
  ['"\\ud83d {{ten}}"', '"\\ud83d 10"'],
  ['"\u2028é💳 {{ten}}"', '"\u2028é💳 10"'],
  ['\ufeff{"a":"{{ten}}"}', '\ufeff{"a":10}'],
]

for (const [body, sent] of CASES)
  t.test(`${show(body)} is sent as ${show(sent)}`, async (t) => {
    t.equal(await text(body), sent)
  })

t.test('bytes that are not UTF-8 survive outside replaced strings', async (t) => {
  const bytes = (value: string) =>
    Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff, 0xc3, 0x28]), Buffer.from(`","a":${value}}`)])
  t.strictSame(await rewritten(bytes('"{{ten}}"'), TYPE), bytes('10'))
})

t.test('a string with an expression that is not UTF-8 is malformed', async (t) => {
  for (const string of ['"\xff{{ten}}"', '"M\xfcller {{ten}}"', '"\\u007b{ten}}\xc3"'])
    await t.rejects(plan(Buffer.from(`["a",${string}]`, 'latin1'), TYPE), {
      code: 'malformed',
    } as unknown as Error)
})

t.test('a body without an expression passes unchanged and unchecked', async (t) => {
  for (const body of ['{"a":1', 'not json', '{"a":"\\u007b"', '{"a":"\\u007b x \\u007b"}', '[1,]', '{ {'])
    t.equal((await plan(body, TYPE)).kind, 'pass', body)
})

const BAD_AROUND = [
  '{"a":%}x',
  '{"a":%',
  '{"a":%]',
  '[%,]',
  '[%%]',
  '[,%]',
  '{"a":%,}',
  '{"a" %}',
  '{a:%}',
  "{'a':%}",
  '{1:%}',
  '[%,01]',
  '[%,1.]',
  '[%,.5]',
  '[%,+1]',
  '[%,-]',
  '[%,1e]',
  '[%,0x1]',
  '[%,NaN]',
  '[%,tru]',
  '[%,truex]',
  '[%,True]',
  '[%,"\\x"]',
  '[%,"\\u12g4"]',
  '[%,"\\u12',
  '[%,"a\nb"]',
  '[%,"\u0000"]',
  '[%,"open',
  '[%,"open\\',
  '[%] [%]',
  '% %',
  '[%] // comment',
  '\u00a0[%]',
  '{{{pan}}}',
  '{"a":{{pan}}}',
]

for (const around of BAD_AROUND)
  t.test(`${show(around)} with an expression is malformed`, async (t) => {
    const body = around.replaceAll('%', '"{{pan}}"')
    await t.rejects(plan(body, TYPE), { name: 'AppError', code: 'malformed' })
    if (around.includes('%')) t.throws(() => JSON.parse(body))
  })

t.test('invalid expressions are rejected', async (t) => {
  for (const body of ['"{{"', '"{{}}"', '"{{ }}"', '"{{ pan"', '"{{ pan | nope }}"', '["{{pan}}","{{"]'])
    await t.rejects(plan(body, TYPE), { code: 'invalid_expression' }, body)
  const unknown = await plan('"{{ gone }}"', TYPE)
  await t.rejects(async () => unknown.kind === 'rewrite' && unknown.apply(resolve), {
    code: 'invalid_expression',
  })
})

t.test('nesting is allowed up to its limit', async (t) => {
  const nested = (depth: number) => `${'['.repeat(depth)}"{{ten}}"${']'.repeat(depth)}`
  t.equal(await text(nested(64)), nested(64).replace('"{{ten}}"', '10'))
  await t.rejects(plan(nested(65), TYPE), { code: 'malformed' })
  await t.rejects(
    plan('{"a":'.repeat(1_000_000), TYPE).then(() => plan(nested(4_000_000), TYPE)),
    {
      code: 'malformed',
    },
  )
})

t.test('a plan lists each token once, in order', async (t) => {
  const result = await plan('["{{b2b}} {{a1a}}",{"x":"{{b2b}}"},"{{ \'literal\' }}"]', TYPE)
  t.equal(result.kind, 'rewrite')
  t.strictSame(result.kind === 'rewrite' && [...result.ids], ['b2b', 'a1a'])
})

/** What the rewriting must equal, by an independent parser: every string value that is an expression, substituted. */
const substitute = (value: unknown): unknown => {
  if (typeof value === 'string') return value.includes('{{') ? substituteText(value) : value
  if (Array.isArray(value)) return value.map(substitute)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item)]))
}
const substituteText = (value: string): Json => {
  const only = /^\{\{(\w+)\}\}$/.exec(value)
  if (only) return VALUES[only[1] as string] as Json
  return value.replace(/\{\{(\w+)\}\}/g, (_match, id: string) => {
    const data = VALUES[id] as Json
    if (data === null) return ''
    return typeof data === 'string' ? data : JSON.stringify(data)
  })
}

const plain = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '{', '\\', '"', '}}', '\ud83d', '{% x %}'),
)
const withoutPair = plain.filter((value) => !value.includes('{'))
const expression = fc.constantFrom(
  '{{pan}}',
  '{{card}}',
  '{{ten}}',
  '{{yes}}',
  '{{none}}',
  '{{text}}',
  '{{evil}}',
)
const leaf = fc.oneof(
  withoutPair,
  expression,
  fc.tuple(withoutPair, expression, withoutPair, expression).map((parts) => parts.join('')),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
)
const document = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5 },
    leaf,
    fc.array(tie('node'), { maxLength: 5 }),
    fc.dictionary(fc.oneof(plain, expression), tie('node'), { maxKeys: 5 }),
  ),
})).node

/** Prints JSON with random white space and escapes, as other writers might. */
const print = (value: unknown, random: () => number): string => {
  const blank = () => ['', '', ' ', '\n', '\t ', '\r\n'][random() % 6] as string
  const string = (raw: string) =>
    `"${[
      ...JSON.stringify(raw)
        .slice(1, -1)
        .matchAll(/\\u[0-9a-f]{4}|\\.|[\ud800-\udbff][\udc00-\udfff]|[\s\S]/g),
    ]
      .map(([unit]) =>
        unit.length === 1 && random() % 7 === 0
          ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
          : unit,
      )
      .join('')}"`
  const node = (item: unknown): string => {
    if (typeof item === 'string') return string(item)
    if (Array.isArray(item))
      return `[${item.map((child) => blank() + node(child) + blank()).join(',') || blank()}]`
    if (typeof item !== 'object' || item === null) return JSON.stringify(item)
    const members = Object.entries(item).map(
      ([key, child]) => `${blank()}${string(key)}${blank()}:${blank()}${node(child)}${blank()}`,
    )
    return `{${members.join(',') || blank()}}`
  }
  return blank() + node(value) + blank()
}

t.test('for any document, parsing what is sent equals substituting in what was parsed', async () => {
  await fc.assert(
    fc.asyncProperty(document, fc.infiniteStream(fc.nat()), async (value, numbers) => {
      const body = print(value, () => numbers.next().value as number)
      const sent = await rewritten(body, TYPE)
      assert.deepEqual(parseJson(sent.toString()), substitute(parseJson(body)))
    }),
    { numRuns: 500 },
  )
})

t.test('for any document, the bytes between replaced literals are the same in the same order', async () => {
  const MARK = '"{{pan}}"'
  await fc.assert(
    fc.asyncProperty(document, fc.infiniteStream(fc.nat()), async (value, numbers) => {
      const marked = JSON.parse(JSON.stringify(value), (_key, item) =>
        typeof item === 'string' ? (item.includes('{') ? '{{pan}}' : item) : item,
      ) as unknown
      const body = print(marked, () => numbers.next().value as number).replace(
        /"(?:\{|\\u007b)(?:\{|\\u007b)[^"]*"(?!\s*:)/g,
        MARK,
      )
      const sent = (await rewritten(body, TYPE)).toString()
      assert.equal(sent, body.replaceAll(/"\{\{pan\}\}"(?!\s*:)/g, '"4242424242424242"'))
    }),
    { numRuns: 300 },
  )
})

t.test('for any text with braces, a body is either sent as valid JSON or rejected', async () => {
  const bits = fc.constantFrom(
    '{',
    '}',
    '"',
    '\\',
    '[',
    ']',
    ',',
    ':',
    '{{pan}}',
    '"{{pan}}"',
    '1',
    'null',
    ' ',
    'u007b',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(bits, { maxLength: 20 }), async (parts) => {
      const body = parts.join('')
      const valid = (() => {
        try {
          JSON.parse(body)
          return true
        } catch {
          return false
        }
      })()
      try {
        const result = await plan(body, TYPE)
        if (result.kind === 'rewrite') {
          assert.ok(valid)
          JSON.parse((await result.apply(resolve)).toString())
        } else if (!valid) assert.doesNotMatch(body, /\{\{|\\u007b\\u007b|\{\\u007b|\\u007b\{/)
      } catch (error) {
        assert.ok(error instanceof AppError)
        if (valid) assert.equal(error.code, 'invalid_expression')
      }
    }),
    { numRuns: 2_000 },
  )
})

t.test('each line of NDJSON is a separate text', async (t) => {
  const sent = async (body: string, type = 'application/x-ndjson') => (await rewritten(body, type)).toString()
  t.equal(
    await sent('{"a":"{{pan}}"}\n\n{"a":"x {{text}}"}\r\n{"a":"{{ten}}","n":1.10}'),
    `{"a":"4242424242424242"}\n\n{"a":${JSON.stringify(`x ${VALUES.text}`)}}\r\n{"a":10,"n":1.10}`,
  )
  t.equal(await sent('not JSON\n{"a":"{{ten}}"}\n[1,\n2]'), 'not JSON\n{"a":10}\n[1,\n2]')
  const injected = '","amount":1,"x":"'
  const result = await plan('{"name":"{{v}}"}\n', 'application/jsonl')
  const body = result.kind === 'rewrite' && (await result.apply(() => ({ data: injected, token: null })))
  t.same(JSON.parse(String(body)), { name: injected })
  for (const line of ['{"a":{{pan}}}', '["{{pan}}"] x', '["{{pan}}"', '["\\u007b{pan}}", tru]'])
    await t.rejects(sent(`{"a":"{{ten}}"}\n${line}\n{}`), { code: 'malformed', message: /^Record 2: / }, line)
  t.equal(
    await sent('\x1e{"a":\n"{{ten}}"}\n\x1e"{{pan}}"\n', 'application/json-seq'),
    '\x1e{"a":\n10}\n\x1e"4242424242424242"\n',
  )
})

t.test('JSON in another ASCII-compatible charset is written in ASCII', async (t) => {
  const type = 'application/json; charset=iso-8859-1'
  t.equal(
    (await rewritten('["{{text}}"]', type)).toString(),
    '["a \\"quoted\\" \\\\ & <b> = \\u00fc\\u20ac\\ud83d\\udcb3 +%7B%7B \\u2028\\n"]',
  )
  await t.rejects(plan(Buffer.from('["\xe9 {{pan}}"]', 'latin1'), type), { code: 'malformed' })
})
