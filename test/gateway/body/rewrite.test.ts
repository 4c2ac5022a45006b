import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { BODY_LIMITS } from '../../../src/gateway/body/rewrite.ts'
import { expressions, plan, resolve, rewritten } from './kit.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

const KINDS: readonly (readonly [type: string, kind: string])[] = [
  ['application/json', '10'],
  ['APPLICATION/JSON;charset=UTF-8', '10'],
  ['application/vnd.api+json', '10'],
  ['application/x-amz-json-1.1', '10'],
  ['application/problem+json; x=y', '10'],
  ['text/json', '10'],
  ['text/plain', '"10"'],
  ['application/yaml', '"10"'],
  ['application/jsonl', '10'],
  ['application/json-seq', '10'],
  ['application/octet-stream', 'pass'],
  ['application/pdf', 'pass'],
  ['image/svg', 'pass'],
  ['application/zip', 'pass'],
  ['application/grpc', 'pass'],
  ['application/x-protobuf', 'pass'],
  ['video/mp4', 'pass'],
]

for (const [type, kind] of KINDS)
  t.test(`${type}: a string that is one expression is sent as ${kind}`, async (t) => {
    const body = '"{{ten}}"'
    const result = await plan(body, type)
    t.equal(result.kind, kind === 'pass' ? 'pass' : 'rewrite')
    if (kind !== 'pass') t.equal((await rewritten(body, type)).toString(), kind)
  })

t.test('several content types are rejected', async (t) => {
  for (const types of [
    'application/json,text/plain',
    'application/json, application/json',
    'a/b;c="d", e/f',
    'application/json,',
    ',application/json',
    'application/json,text',
    'a/b;c="\\"", e/f',
    'multipart/mixed; boundary=a,b',
  ])
    await t.rejects(plan('{"a":"{{ten}}"}', types), { code: 'malformed' }, types)
  t.equal((await plan('{"a":"{{ten}}"}', 'application/json; profile="a/b, c/d"')).kind, 'rewrite')
  t.equal((await plan('{"a":"{{ten}}"}', 'application/json; profile="\\",b"')).kind, 'rewrite')
  t.equal((await plan('x', 'multipart/mixed; boundary="a,b"')).kind, 'pass')
})

t.test('what is no media type passes without a visible expression only', async (t) => {
  for (const type of [
    'nonsense',
    'text/',
    '/',
    'application//json',
    'application/json/x',
    'application/json\xff',
  ]) {
    await t.rejects(plan('{"a":"{{ten}}"}', type), { code: 'malformed' }, type)
    t.equal((await plan('{"a":1}', type)).kind, 'pass', type)
  }
})

t.test('an empty body, or one of an unknown type that is not text, passes', async (t) => {
  t.equal((await plan('', JSON_TYPE)).kind, 'pass')
  t.equal((await plan(Buffer.from([0xff, 0x7b, 0x7b]), undefined)).kind, 'pass')
})

const BODY = '{"a":"{{pan}}","pad":"xxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'
const SENT = BODY.replace('{{pan}}', '4242424242424242')

const CODINGS: readonly (readonly [header: string, encode: (body: string | Buffer) => Buffer])[] = [
  ['gzip', gzipSync],
  ['X-GZip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['identity, gzip', gzipSync],
  ['gzip, br', (body) => brotliCompressSync(gzipSync(body))],
]

for (const [header, encode] of CODINGS)
  t.test(`a body in ${header} is decoded, replaced and sent decoded`, async (t) => {
    const result = await plan(encode(BODY), JSON_TYPE, header)
    t.match(result, { kind: 'rewrite', decoded: true })
    t.equal(result.kind === 'rewrite' && (await result.apply(resolve)).toString(), SENT)
  })

t.test('a body without an encoding is not reported as decoded', async (t) => {
  t.match(await plan(BODY, JSON_TYPE, 'identity'), { kind: 'rewrite', decoded: false })
  t.match(await plan(BODY, JSON_TYPE, ''), { kind: 'rewrite', decoded: false })
})

t.test('compressed bodies without an expression, of binary types, or in unknown codings pass', async (t) => {
  t.equal((await plan(gzipSync('{"a":1}'), JSON_TYPE, 'gzip')).kind, 'pass')
  t.equal((await plan(gzipSync(BODY), 'application/octet-stream', 'gzip')).kind, 'pass')
  for (const coding of ['zstd', 'compress', 'gzip, zstd', 'gzip, gzip, gzip', 'constructor'])
    t.equal((await plan(gzipSync(BODY), JSON_TYPE, coding)).kind, 'pass', coding)
})

t.test('a body that does not match its content encoding is malformed', async (t) => {
  for (const coding of ['gzip', 'deflate', 'br'])
    await t.rejects(plan(BODY, JSON_TYPE, coding), { name: 'AppError', code: 'malformed' })
  await t.rejects(plan(gzipSync(BODY).subarray(0, 30), JSON_TYPE, 'gzip'), { code: 'malformed' })
})

t.test('a decompression bomb is stopped at the limit', async (t) => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))
  await t.rejects(plan(bomb, JSON_TYPE, 'gzip'), { code: 'too_large' })
  await t.rejects(plan(brotliCompressSync(bomb), JSON_TYPE, 'gzip, br'), { code: 'too_large' })
  const exact = Buffer.concat([Buffer.alloc(BODY_LIMITS.decodedBytes - BODY.length, ' '), Buffer.from(BODY)])
  t.equal((await plan(gzipSync(exact), JSON_TYPE, 'gzip')).kind, 'rewrite')
})

t.test('a rewritten body is rejected exactly above its limit', async (t) => {
  const body = '["{{pan}}","{{pan}}"]'
  const size = '["4242424242424242","4242424242424242"]'.length
  for (const [rewrittenBytes, fits] of [
    [size, true],
    [size - 1, false],
  ] as const)
    for (const type of ['application/json', 'text/plain']) {
      const limits = {
        ...BODY_LIMITS,
        rewrittenBytes: type === 'text/plain' ? rewrittenBytes : rewrittenBytes,
      }
      const result = await plan(body, type, undefined, limits)
      const applied = (async () => {
        if (result.kind !== 'rewrite') throw new Error('passed')
        return result.apply(resolve)
      })()
      if (fits) await t.resolves(applied)
      else await t.rejects(applied, { code: 'too_large' })
    }
})

t.test('many large values are rejected at the limit before all are printed', async (t) => {
  const body = JSON.stringify(Array.from({ length: 20_000 }, () => '{{big}}'))
  const result = await plan(body, JSON_TYPE)
  let looks = 0
  const big = { data: 'x'.repeat(1_000_000), token: null }
  await t.rejects(
    async () =>
      result.kind === 'rewrite' &&
      result.apply(() => {
        looks++
        return big
      }),
    { code: 'too_large' },
  )
  t.ok(looks < 50)
})

t.test('applying twice gives the same bytes', async (t) => {
  const result = await plan(BODY, JSON_TYPE)
  if (result.kind !== 'rewrite') return t.fail('passed')
  t.strictSame(await result.apply(resolve), await result.apply(resolve))
})

const MULTIPART = 'multipart/form-data; boundary=b'

const HOSTILE: readonly (readonly [type: string, unit: string])[] = [
  ['text/plain', '{{'],
  ['text/plain', '{{a}}'],
  ['text/plain', "{{a|b:'"],
  ['application/json', '{{'],
  ['application/json', '['],
  ['application/json', '{"{{":'],
  ['application/json', '"{{aaa}}"'],
  ['application/json', '\\u007b'],
  ['application/x-www-form-urlencoded', '{{'],
  ['application/x-www-form-urlencoded', 'a={{b}}&'],
  ['application/x-www-form-urlencoded', '%7B%7B&'],
  ['application/x-www-form-urlencoded', 'a=%7B%7'],
  ['application/x-ndjson', '"{{'],
  ['application/x-ndjson', '"{{a}}"\n'],
  ['text/xml', '<'],
  ['text/xml', '<a b="{{a}}">'],
  ['text/xml', '<!--{'],
  ['text/xml', '{{a}}<![CDATA['],
  ['text/xml', '&{{a}}'],
  ['text/csv', '"{{'],
  ['text/csv', '{{a}},'],
  ['text/csv', '"a{{b}}"\n'],
  [MULTIPART, '\r\n--b\r\n\r\n{{a}}'],
  [MULTIPART, '\r\n--b'],
  [MULTIPART, '{{'],
  ['multipart/mixed', '{{ '],
]

for (const [type, unit] of HOSTILE)
  t.test(`2 MiB of ${JSON.stringify(unit)} as ${type} are planned in linear time`, async (t) => {
    const wrap = type === 'application/json' && unit.startsWith('\\') ? '"' : type === 'text/xml' ? '<a>' : ''
    const body = wrap + unit.repeat((2 * 1024 * 1024) / unit.length) + wrap
    // Work in proportion to the square takes hours: it would not end within the test's time.
    await plan(body, type).catch((error: unknown) => t.match(error, { name: 'AppError' }))
    t.pass('it ended')
  })

t.test('a 100 KB string in a list of many is found in linear time', async (t) => {
  const body = JSON.stringify([
    ...Array.from({ length: 1_000 }, (_, at) => `{{ tok${at} }}`),
    'x'.repeat(7_000_000),
  ])
  const result = await plan(body, JSON_TYPE)
  t.equal(result.kind === 'rewrite' && result.ids.length, 1_000)
})

t.test('no error of planning quotes the body', async (t) => {
  const secret = '4111111111111111'
  for (const [type, body] of [
    ['application/json', `{"a":"${secret} {{"}`],
    ['application/json', `{"a":"{{ ${secret}/x }}"}`],
    ['application/json', `{"a":"{{ x | y: '${secret}' }}"}`],
    ['application/json', `{"a":${secret}x,"b":"{{ x }}"}`],
    ['text/plain', `${secret} {{ x | append: ${secret}a }}`],
    ['application/x-www-form-urlencoded', `a=${secret}{{`],
    ['text/xml', `<a>${secret} {{ ${secret}/x }}</a>`],
    ['text/xml', `<${secret} {{`],
    ['text/csv', `${secret},"{{ x }}"${secret}`],
    [MULTIPART, `--b\r\n${secret}\r\n\r\n{{ x }}\r\n--b--`],
    [MULTIPART, `--b\r\nContent-Type: a/b\r\n\r\n${secret}{{ x }}\r\n--b--`],
  ] as const) {
    const error = await plan(body, type).catch((thrown: unknown) => thrown as Error)
    t.ok(error instanceof Error, body)
    t.notMatch(String((error as Error).message), new RegExp(secret))
  }
  t.ok(expressions)
})
