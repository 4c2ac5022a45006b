import t from 'tap'
import { CARD, cut, inParts, plan, resolve, rewritten, show, VALUES } from './kit.ts'

const CASES: readonly (readonly [type: string | undefined, body: string, sent: string])[] = [
  ['text/plain', 'pan: {{pan}}.', 'pan: 4242424242424242.'],
  ['text/plain', '{{card | raw}}', JSON.stringify(CARD)],
  ['text/plain', '<{{none}}{{yes}}>', '<true>'],
  ['text/plain', '{{evil|raw}}', String(VALUES.evil)],
  ['text/plain', 'a {{- text | upcase | raw -}} b', `a${String(VALUES.text).toUpperCase()}b`],
  ['text/plain', "{{ 'x | raw' | append: ' | raw }}' }}", 'x | raw | raw }}'],
  ['text/plain', 'ü {{it é}} €', 'ü odd id €'],
  ['text/plain', '{% if x %}{{ten}}{% endif %}', '{% if x %}10{% endif %}'],
  ['text/plain', 'a  {{- ten -}}  b {{- ten }} c', 'a10b10 c'],
  ['text/plain', '  {{- ten -}} {{- ten -}}  ', '1010'],
  ['application/graphql', '{ pay(card: "{{pan}}") { id } }', '{ pay(card: "4242424242424242") { id } }'],
  [undefined, 'pan={{pan}}', 'pan=4242424242424242'],
  ['', '{{ten}}', '10'],
]

for (const [type, body, sent] of CASES)
  t.test(`${type ?? 'no type'}: ${show(body)} is sent as ${show(sent)}`, async (t) => {
    t.equal((await rewritten(body, type)).toString(), sent)
  })

t.test('bytes that are not text survive around expressions', async (t) => {
  const around = (inner: string) =>
    Buffer.concat([Buffer.from([0xff, 0xa0]), Buffer.from(inner), Buffer.from([0x85, 0xfe])])
  t.strictSame(await rewritten(around('{{-ten-}}'), 'text/plain'), around('10'))
})

t.test('latin1 text accepts values that latin1 can encode, and rejects others', async (t) => {
  const type = 'text/plain; charset=ISO-8859-1'
  const body = Buffer.from('ü {{it é}} {{v}}', 'latin1')
  const result = await plan(body, type)
  t.strictSame(result.kind === 'rewrite' && [...result.ids], ['it é', 'v'])
  const apply = (value: string) =>
    result.kind === 'rewrite' ? result.apply(() => ({ data: value, token: null })) : undefined
  t.strictSame(await apply('é'), Buffer.from('ü é é', 'latin1'))
  await t.rejects(async () => apply('€'), { code: 'invalid_expression' })
})

t.test('other ASCII-compatible charsets accept ASCII values only; bodies in the rest pass', async (t) => {
  t.equal(
    (await rewritten('x {{pan}}', 'text/plain; charset="windows-1251"')).toString(),
    'x 4242424242424242',
  )
  const result = await plan('{{text}}', 'text/plain;charset=windows-1251')
  await t.rejects(async () => result.kind === 'rewrite' && result.apply(resolve), {
    code: 'invalid_expression',
  })
})

t.test('a body in a charset that cannot encode values is rejected when it has an expression', async (t) => {
  const kinds = [
    'text/plain',
    'text/csv',
    'application/json',
    'application/x-ndjson',
    'application/x-www-form-urlencoded',
  ]
  for (const kind of kinds)
    for (const charset of ['utf-16', 'utf-16le', 'utf-32', 'constructor', 'ibm037']) {
      const type = `${kind}; charset=${charset}`
      await t.rejects(plan('"{{ pan }}"', type), { code: 'malformed' }, type)
      await t.rejects(plan(Buffer.from('"{{ pan }}"', 'utf16le'), type), { code: 'malformed' }, type)
      t.equal((await plan('"{{ pan } }"', type)).kind, 'pass')
      t.equal((await plan(Buffer.from('{{\ufffd}}', 'utf16le'), type)).kind, 'pass')
    }
})

t.test('UTF-16 and UTF-32, with and without a byte-order mark, are no text of another charset', async (t) => {
  const utf32 = (text: string) => Buffer.from(Uint32Array.from(text, (c) => c.charCodeAt(0)).buffer)
  const encodings = {
    le: (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'),
    be: (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    'le without mark': (text: string) => Buffer.from(text, 'utf16le'),
    'be without mark': (text: string) => Buffer.from(text, 'utf16le').swap16(),
    utf32,
    'utf32 be': (text: string) => utf32(text).swap32(),
  }
  const types = [
    'text/plain',
    'text/csv',
    'application/json',
    'application/x-ndjson',
    'application/x-www-form-urlencoded',
    'application/xml',
    undefined,
  ]
  for (const [name, encoded] of Object.entries(encodings))
    for (const type of types) {
      await t.rejects(plan(encoded('"{{ pan }}"'), type), { code: 'malformed' }, `${type} ${name}`)
      t.equal((await plan(encoded('"pan"'), type)).kind, 'pass')
      if (type === undefined) continue
      const bytes = encoded('"{{ pan }}"')
      for (let at = 0; at < 8; at++)
        t.throws(
          () => inParts(cut(bytes, [at]), type),
          { code: 'malformed' },
          `${type} ${name}, cut at ${at}`,
        )
    }
  t.equal((await plan(Buffer.from('\ufeff{{ pan }}', 'utf16le'), 'image/png')).kind, 'pass')
})

t.test('text of a type without escaping accepts no value that could end its context', async (t) => {
  const types = [
    'text/plain',
    'text/html',
    'application/yaml',
    'application/graphql',
    'text/tab-separated-values',
    undefined,
  ]
  for (const type of types)
    for (const character of '\n\r\t\0\u001b\u007f\u0085\u2028\u2029"\'`<>\\') {
      const send = async (body: string) => {
        const result = await plan(body, type)
        return result.kind === 'rewrite'
          ? (await result.apply(() => ({ data: `4111111111111111${character}`, token: null }))).toString()
          : body
      }
      const error = await send('a: 1\nb: "é {{ v }}"').catch((thrown: unknown) => thrown as Error)
      t.match(error, { code: 'invalid_expression', message: /^At line 2, column 8: / })
      t.notMatch(String((error as Error).message), /4111/)
      t.equal(await send('{{ v | raw }}'), `4111111111111111${character}`)
    }
  await t.rejects(plan('{{ pan | raw | upcase }}', 'text/plain'), { code: 'invalid_expression' })
})

t.test('"raw" is rejected where values are encoded: it is a filter of text only', async (t) => {
  for (const [type, body] of [
    ['application/json', '["{{ pan | raw }}"]'],
    ['application/x-ndjson', '["{{ pan | raw }}"]'],
    ['application/x-www-form-urlencoded', 'a={{ pan | raw }}'],
    ['text/xml', '<a>{{ pan | raw }}</a>'],
    ['text/csv', '{{ pan | raw }}'],
    ['multipart/form-data; boundary=b', '--b\r\n\r\n{{ pan | raw }}\r\n--b--'],
  ] as const)
    await t.rejects(plan(body, type), { code: 'invalid_expression' }, type)
})

t.test('invalid expressions are rejected', async (t) => {
  for (const body of ['{{', '{{}}', 'x {{ pan', '{{ pan | nope }}', '{"a":{{pan}', '{{ a/b }}'])
    await t.rejects(plan(body, 'text/plain'), { code: 'invalid_expression' }, body)
})
