import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import { createPartReader } from '../../../src/gateway/body/parts.ts'
import { BODY_LIMITS, type BodyLimits } from '../../../src/gateway/body/rewrite.ts'
import { cut, expressions, inParts, rewritten, show } from './kit.ts'

const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=b'
const LATIN = 'text/plain; charset=iso-8859-1'

const codeOf = (thrown: unknown): string => {
  if (thrown instanceof AppError) return thrown.code
  throw thrown
}

const outcome = (work: () => Buffer): string => {
  try {
    return work().toString('latin1')
  } catch (thrown) {
    return `! ${codeOf(thrown)}`
  }
}

const whole = (body: Buffer, type: string): Promise<string> =>
  rewritten(body, type).then(
    (sent) => sent.toString('latin1'),
    (thrown) => `! ${codeOf(thrown)}`,
  )

/** Which of several errors is reported depends on how much of the body has arrived. */
const same = (sent: string, expected: string): void => {
  if (!sent.startsWith('!') || !expected.startsWith('!')) assert.equal(sent, expected)
}

const BODIES: readonly (readonly [type: string, body: string | Buffer])[] = [
  [
    JSON_TYPE,
    '{"a":"{{ pan }}","n":1.10,"a":"x {{card | json: \'$.number\'}} y","{{ pan }}":[true,null,false,-1.5e+3]}',
  ],
  [JSON_TYPE, ' \ufeff[1]'],
  [
    JSON_TYPE,
    '\ufeff ["{{ text }}", "\\u007b\\u007B pan }}", "{\\u007b ten }}", "\\u007b{yes}}", "\\\\u007b{ pan }}"]',
  ],
  [JSON_TYPE, '{"a":"\\"{{ \\"x\\" }}\\u00e9\\ud83d\\ude00","b":{"c":[[],{},"",0,-0.0,1e9]}}'],
  [JSON_TYPE, Buffer.from('["{{ pan }}\xff", "\xc3\xa9 {{ evil }}", "\xff"]', 'latin1')],
  [JSON_TYPE, '["{{ pan }}", tru]'],
  [JSON_TYPE, '["no pair", tru]'],
  [JSON_TYPE, '[tru, "{{ pan }}"]'],
  [JSON_TYPE, '[{{ pan }}]'],
  [JSON_TYPE, '["x", \\u007b\\u007b]'],
  [JSON_TYPE, '["{{ pan }}"] x'],
  [JSON_TYPE, '["{{ pan }}"'],
  [JSON_TYPE, '["open'],
  [JSON_TYPE, '["{{ open'],
  [JSON_TYPE, '"{{ pan }}"'],
  [JSON_TYPE, '{{ pan }}'],
  [JSON_TYPE, '["{{ gone }}"]'],
  [JSON_TYPE, '["{{ pan | nothing }}"]'],
  [JSON_TYPE, '01'],
  [JSON_TYPE, '["{{ pan }}", "\\x"]'],
  [JSON_TYPE, '["{{ pan }}", "\\u12"]'],
  [JSON_TYPE, ''],
  ['application/x-ndjson', '{"a":"{{ pan }}"}\nno JSON\r\n\n{"a":"{{ text }}"}\n'],
  ['application/x-ndjson', '{"a":"{{ pan }}"}\n{"a":{{ ten }}}\n{"a":"{{ text }}"}'],
  ['application/json-seq', '\x1e["{{ pan }}",\n1]\n\x1e{\x1e"\\u007b{ ten }}"\n'],
  [
    'text/plain',
    'a {{ pan }} b {{- ten -}}  c {{ card | json: "$.cvc" }}{{ none }}  {{- yes -}}\t\n {{-ten-}}  ',
  ],
  ['text/plain', '   {{- pan -}}   '],
  ['text/plain', "{{{ pan }}} { {pan}} {{ 'it}}' | append: \"}}\" }} {{ 'it é' }} }} {"],
  ['text/plain', "{{ 'tis }} and {{ it é }} {{ 'quoted' }}"],
  ['text/plain', '{{ pan'],
  ['text/plain', 'x\n {{ text }}'],
  ['text/plain; charset=utf-16', Buffer.from('x {{ pan }} y', 'utf16le')],
  ['text/plain; charset=utf-16', Buffer.from('x {{ pan } }', 'utf16le')],
  ['text/plain', 'x {{ pan }} {{'],
  ['text/plain', 'x {{ }} y'],
  ['text/plain', '{% if a %} {{ pan }}'],
  ['text/csv', 'pan,cvc\n{{ pan }},{{ card | json: "$.cvc" }}\n'],
  [LATIN, Buffer.from('\xe9 {{ pan }} \xff {{ text }}', 'latin1')],
  [LATIN, Buffer.from('\xe9 {{ pan }} \xff', 'latin1')],
  [FORM, 'a={{ pan }}&b=%7B%7b+text+%7D}&{{ pan }}=x&c&=&d={%7B ten }}&e=1.10&e=%zz'],
  [FORM, '&&a=%7B%7'],
  [FORM, 'a={{&b=}}'],
  [FORM, 'a={{ text }}'],
  ['application/octet-stream', '{{ pan }}'],
  ['multipart/mixed; boundary=x', '--x\r\n\r\n{ {\0{ pan }\0}'],
  ['multipart/mixed; boundary=x', '--x\r\n\r\n{{ pan \x01}}'],
  [MULTIPART, '--b\r\n\r\n{{ pan }}\r\n--b--'],
  [
    MULTIPART,
    '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n{{ text }}\r\n--b \r\nContent-Disposition: form-data; name="{{ pan }}"; filename=f\r\n\r\n{{ pan }}\r\n-\r\n--b\r\nContent-Type: application/json\r\n\r\n["\\u007b{ text }}"]\r\n--b\r\nContent-Type: text/xml\r\n\r\n<a b="{{ text }}"/>\r\n--b\r\n\r\n\r\n--b--\r\n',
  ],
  [MULTIPART, '--b\r\nContent-Type: image/png\r\n\r\nx{{y}}\r\n--b--'],
  [MULTIPART, '--b\r\nContent-Type: text/html\r\n\r\n{{ text }}\r\n--b--'],
  [MULTIPART, '--b\r\n\r\n{{ "--b" }}\r\n--b--'],
  [MULTIPART, '--b\r\n\r\n--b--{{'],
  [MULTIPART, '--b\r\n\r\n{{ pan }}\r\n--bx--'],
  [MULTIPART, '--b\r\n\r\n{{ pan }}\r\n--'],
  [MULTIPART, 'x--b\r\n\r\n{{ pan }}\r\n--b--'],
  [MULTIPART, 'no multipart'],
  [
    'text/xml',
    '\ufeff<?xml version="1.0"?>\n<!DOCTYPE a SYSTEM "a>b">\n<a b = "{{ text }}" c=\'{{ card | json: &apos;$.cvc&apos; }}\'><!-- c -->é {{ text }} &amp; {{- ten -}} \n<![CDATA[{{ text }}]{{ none }}]>{{ pan }}]]><?p i?><b/></a>\n',
  ],
  ['application/soap+xml', '<a>{{ pan }}</a><b/>'],
  ['text/xml', '<a>{{ pan }}</a'],
  ['text/xml', '<a b="{{ pan }}'],
  ['text/xml', '<a b="<{{ pan }}"/>'],
  ['text/xml', '<a><!-- {{ pan }} --></a>'],
  ['text/xml', '<a><!-- a -- b -->{{ pan }}</a>'],
  ['text/xml', '<{{ pan }}/>'],
  ['text/xml', '<a><![CDATA[{{ pan }}]]'],
  ['text/xml', '<!DOCTYPE a [<!ENTITY b "c">]><a/>'],
  ['text/xml', '<a>no XML'],
  ['text/xml', '<a>{{ pan'],
  ['text/xml', '<a>&{{ pan }};</a>'],
  ['text/xml', '<a/>{{ pan }}'],
  [
    'text/csv',
    '{{ text }},"a ""{{ card | json: ""$.cvc"" }}""\r\n{{ none }}"\r\n{{ none }}\n,{{ card | json: "$.cvc" }}',
  ],
  ['text/csv', '\ufeff"{{ pan }}",x\ry'],
  ['text/csv', 'a,"{{ pan }}'],
  ['text/csv', 'a"{{ pan }}'],
  ['text/csv', 'a,"{{ pan }}"b'],
  ['text/csv', 'a,"b"c'],
  ['text/csv; charset=latin1', Buffer.from('"\xe9{{ pan }}",\xe9,{{ text }}', 'latin1')],
]

t.test('a body cut in two at any byte, or into single bytes, is sent as if it were complete', async (t) => {
  for (const [type, text] of BODIES) {
    const body = Buffer.from(text as string)
    const expected = await whole(body, type)
    for (let at = 0; at <= body.length; at++)
      assert.equal(
        outcome(() => inParts([body.subarray(0, at), body.subarray(at)], type)),
        expected,
        `${show(body.toString('latin1'))} cut at ${at}`,
      )
    const bytes = [...body].map((byte) => Buffer.of(byte))
    t.equal(
      outcome(() => inParts([...bytes, Buffer.alloc(0)], type)),
      expected,
      `${type} ${show(body.toString('latin1'))}`,
    )
  }
})

const bits = {
  [JSON_TYPE]: [
    '{',
    '}',
    '"',
    '\\',
    '[',
    ']',
    ',',
    ':',
    '{{pan}}',
    '"{{ text }}"',
    '"{{pan}} x"',
    '1',
    '-',
    '.5',
    'e9',
    'null',
    ' ',
    '\\u007b',
    'u007B',
    '"a":',
    'é',
  ],
  'application/x-ndjson': [
    '{',
    '"',
    '\\',
    '[',
    ']',
    ',',
    '\n',
    '\n',
    '["{{pan}}"]',
    '"{{ text }}"',
    '1',
    ' ',
    '\\u007b',
  ],
  'text/plain': [
    '{',
    '}',
    '{{',
    '}}',
    '{{-',
    '-}}',
    '{{ pan }}',
    '{{- ten -}}',
    "'",
    '"',
    '|',
    ' ',
    '\n',
    'a',
    'é',
    '{{ text | append: "}}" }}',
  ],
  'text/xml': [
    '<',
    '>',
    '<a>',
    '</a>',
    '<a>',
    '</a>',
    '<b/>',
    '<a b="{{ text }}">',
    '{{pan}}',
    '{{- text }}',
    '{',
    '"',
    '<![CDATA[',
    ']]>',
    ']',
    '<!--',
    '-->',
    '<?p',
    '?>',
    '<!DOCTYPE a>',
    '&amp;',
    '&',
    ' ',
    'é',
  ],
  'text/csv': [
    '"',
    '""',
    ',',
    '\n',
    '\r\n',
    '\r',
    '{{pan}}',
    '{{ text }}',
    '{{ none }}',
    '{',
    'a',
    ';',
    ' ',
    '{{ "," }}',
  ],
  [MULTIPART]: [
    '--b\r\n\r\n',
    '\r\n--b\r\n\r\n',
    '\r\n--b\r\n',
    'Content-Type: text/csv\r\n\r\n',
    'content-disposition: form-data; filename=a\r\n\r\n',
    'Content-Type: image/png\r\n\r\n',
    '\r\n--b--',
    '\r\n',
    '--b',
    '\r',
    '-',
    '{{pan}}',
    '{{ text }}',
    '{',
    '{{"-"}}',
    'a',
  ],
  [FORM]: ['{', '%7B', '%7b', '%7', '{{pan}}', '=', '&', 'a', '+', '%7B{ text }}', '%', '}}'],
}

for (const [type, parts] of Object.entries(bits))
  t.test(`for any body of ${type} and any cuts, what is sent is the same`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...parts), { maxLength: 30 }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        async (texts, places) => {
          const body = Buffer.from(texts.join(''))
          same(
            outcome(() => inParts(cut(body, places), type)),
            await whole(body, type),
          )
        },
      ),
      { numRuns: 1_000 },
    )
  })

t.test('for any JSON document and any cuts, what is sent is the same', async () => {
  const leaf = fc.oneof(
    fc.constantFrom('{{ pan }}', 'x {{ card }} y', '{{ text }}', 'plain', 1.5, null, true),
    fc.string(),
  )
  const { document } = fc.letrec((tie) => ({
    document: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('document'), { maxLength: 5 }),
      fc.dictionary(fc.string(), tie('document'), { maxKeys: 5 }),
    ),
  }))
  await fc.assert(
    fc.asyncProperty(
      document,
      fc.array(fc.nat(2_000), { maxLength: 12 }),
      fc.nat(2),
      async (value, places, indent) => {
        const body = Buffer.from(JSON.stringify(value, null, indent))
        same(
          outcome(() => inParts(cut(body, places), JSON_TYPE)),
          await whole(body, JSON_TYPE),
        )
      },
    ),
    { numRuns: 1_000 },
  )
})

const HELD: BodyLimits = { ...BODY_LIMITS, heldBytes: 40 }
const LONG = 'x'.repeat(60)

t.test('a text too long to be buffered passes, unless it contains an expression', (t) => {
  const bodies: readonly (readonly [type: string, body: string, sent: string])[] = [
    [JSON_TYPE, `{"a":"${LONG}","${LONG}{{":"{{ pan }}"}`, `{"a":"${LONG}","${LONG}{{":"4242424242424242"}`],
    [JSON_TYPE, `["${LONG}\\u007b \\u007b\\"}","{{ ten }}"]`, `["${LONG}\\u007b \\u007b\\"}",10]`],
    [JSON_TYPE, `["${LONG}{{ pan }}"]`, '! too_large'],
    [JSON_TYPE, `["{{ pan }}${LONG}"]`, '! too_large'],
    [JSON_TYPE, `["${LONG}{\\u007b"]`, '! too_large'],
    [JSON_TYPE, `["${LONG}\\u007b{"]`, '! too_large'],
    [JSON_TYPE, `["${LONG}\\x","{{"]`, '! malformed'],
    [JSON_TYPE, `[${'1'.repeat(60)}]`, '! too_large'],
    [
      'text/xml',
      `<a>${LONG}<b>{{ ten }}</b><![CDATA[${LONG}]]></a>`,
      `<a>${LONG}<b>10</b><![CDATA[${LONG}]]></a>`,
    ],
    ['text/xml', `<a>${LONG}{{ ten }}</a>`, '! too_large'],
    ['text/xml', `<a><![CDATA[${LONG}{{ ten }}]]></a>`, '! too_large'],
    ['text/xml', `<a b="{{ ten }}${LONG}"/>`, '! too_large'],
    ['text/xml', `<a b="${LONG}"/>`, `<a b="${LONG}"/>`],
    ['text/csv', `a,${LONG}`, '! too_large'],
    ['application/x-ndjson', `["${LONG}"]\n["{{ ten }}"]`, `["${LONG}"]\n[10]`],
    ['application/x-ndjson', `["${LONG}{{ ten }}"]\n`, '! too_large'],
    [MULTIPART, `--b\r\n\r\n${LONG}\r\n--b--`, `--b\r\n\r\n${LONG}\r\n--b--`],
    [MULTIPART, `--b\r\n\r\n${LONG}{{ ten }}\r\n--b--`, '! too_large'],
    [MULTIPART, `--b\r\nContent-Type: a/b\r\n\r\n${LONG}{{ ten }}\r\n--b--`, '! malformed'],
    [FORM, `a=${LONG}&b={{ pan }}`, `a=${LONG}&b=4242424242424242`],
    [FORM, `${LONG}{{=b&c={{ ten }}&d`, `${LONG}{{=b&c=10&d`],
    [FORM, `a=${LONG}%7B%7b pan }}`, '! too_large'],
    [FORM, `a={{ pan }}${LONG}`, '! too_large'],
    [FORM, `${LONG}={{ pan }}`, '! too_large'],
    [FORM, `${LONG}&${LONG}=%7B&{{=%7B`, `${LONG}&${LONG}=%7B&{{=%7B`],
  ]
  for (const [type, text, expected] of bodies) {
    const body = Buffer.from(text)
    for (let size = 1; size <= body.length; size++) {
      const parts = cut(
        body,
        Array.from({ length: Math.ceil(body.length / size) }, (_, at) => at * size),
      )
      assert.equal(
        outcome(() => inParts(parts, type, HELD)),
        expected,
        `${show(text)} in parts of ${size}`,
      )
    }
  }
  t.end()
})

t.test('white space of any length is not buffered', (t) => {
  const blank = ' '.repeat(70_000)
  const parts = (text: string) => cut(Buffer.from(text), [1, 30_000, 66_000, 69_999, 70_001, 70_003])
  t.equal(
    outcome(() => inParts(parts(`a${blank}{{ ten }}`), 'text/plain')),
    `a${blank}10`,
  )
  t.equal(
    outcome(() => inParts(parts(`a${blank}{{- ten }}`), 'text/plain')),
    '! too_large',
  )
  t.equal(
    outcome(() => inParts([Buffer.from(`a${blank}{{- ten }}`)], 'text/plain')),
    '! too_large',
  )
  t.equal(
    outcome(() => inParts(parts(`{{ ten -}}${blank}a`), 'text/plain')),
    '10a',
  )
  const reader = createPartReader('text/plain', undefined, expressions, BODY_LIMITS)
  let held = 0
  for (let round = 0; round < 40; round++) {
    held += 100_000 - reader.push(Buffer.alloc(100_000, ' '), false).bytes.length
    t.ok(held <= 200_000)
  }
  t.end()
})

t.test('single bytes of one long string cost no more than the string', (t) => {
  const reader = createPartReader(JSON_TYPE, undefined, expressions, BODY_LIMITS)
  reader.push(Buffer.from('["{{ pan }}'), false)
  const { concat } = Buffer
  t.teardown(() => {
    Buffer.concat = concat
  })
  let joined = 0
  Buffer.concat = (list, length) => {
    const all = concat(list, length)
    joined += all.length
    return all
  }
  for (let at = 0; at < 500_000; at++) reader.push(Buffer.of(0x78), false)
  t.ok(joined < 30 * 500_000, `${joined} bytes were put together`)
  t.equal(reader.push(Buffer.from('"]'), true).occurrences.length, 1)
  t.end()
})

t.test('errors visible only in a complete body are rejected, unread parts pass', (t) => {
  const create = (type: string | undefined, encoding?: string) => () =>
    createPartReader(type, encoding, expressions, BODY_LIMITS)
  for (const coding of ['gzip', 'br', 'deflate', 'gzip, identity'])
    t.throws(create(JSON_TYPE, coding), { code: 'unsupported_media_type' })
  t.throws(create(undefined), { code: 'unsupported_media_type' })
  t.throws(create(' '), { code: 'unsupported_media_type' })
  t.throws(create('text/plain, application/json'), { code: 'malformed' })
  const zipped = gzipSync('{{ pan }}')
  for (const [type, coding] of [
    ['image/png', 'gzip'],
    [JSON_TYPE, 'zstd'],
  ] as const)
    t.same(create(type, coding)().push(zipped, true).bytes, zipped)
  t.doesNotThrow(create(JSON_TYPE, 'identity'))
  t.end()
})
