import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { call } from '../kit/egress.ts'
import { startOutside } from '../kit/outside.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

/** Calls of stored proxies with code, and of reactors; each group is asked so often. */
const PROXIED = 900
const REACTED = 400
const CONCURRENCY = 16

/** Statuses that callers can cause: never 500, 503 or 504. 502: a response that a transform cannot process. */
const ALLOWED = new Set([200, 201, 202, 204, 299, 302, 400, 401, 403, 404, 405, 408, 411, 413, 415, 422, 502])

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const TYPES = [
  ...[JSON_TYPE, JSON_TYPE, JSON_TYPE, FORM_TYPE, FORM_TYPE],
  ...['text/plain', 'application/xml', 'application/octet-stream', 'multipart/form-data; boundary=x', ''],
  ...[`${JSON_TYPE}; charset=utf-16`, `${JSON_TYPE}; charset="iso-8859-1"`, `${FORM_TYPE};charset=\u00fc`],
  ...[`${JSON_TYPE}, ${FORM_TYPE}`, 'application/vnd.api+json', 'json', ';', '*/*', `${JSON_TYPE};;;=`],
]
const BODIES = [
  ...[
    '',
    ' ',
    '{}',
    '[]',
    'null',
    'true',
    '0',
    '-0',
    '1e400',
    '"x"',
    '{"a":1}',
    '{"a":1',
    '{"a":1}}',
    '[[[[',
  ],
  ...[
    '{"__proto__":{"x":1},"constructor":{"prototype":{}}}',
    '{"toJSON":1,"then":2,"length":-1}',
    '{"a":1,"a":2}',
  ],
  ...['{"":{"":{"":null}}}', '"\\ud800"', '"\\u0000"', '\u0000', '\ufeff{}', '{"a":"{{"}', '{"a":"{{ }}"}'],
  ...[
    '{"a":"{{ unknown }}"}',
    '{"a":"{{ CARD }}"}',
    '{"{{ CARD }}":1}',
    '{"a":"{{ CARD | json: \'$.number\' }}"}',
  ],
  ...[
    '{"a":"{{ CARD | nope }}"}',
    '{"a":"{{ CARD | json: \'$[\' }}"}',
    '"{{ CARD }}"',
    '{{ CARD }}',
    '{% raw %}',
  ],
  ...['a=1&b=2', 'a=1&a=2', '&&&===', 'a', '%', '%zz=%', 'a=%7B%7B+CARD+%7D%7D', 'a[b][c]=1', 'a=%ff%fe'],
  ...[`[${'1,'.repeat(5_000)}1]`, '['.repeat(60) + ']'.repeat(60), '['.repeat(70) + ']'.repeat(70)],
  ...[`{"a":"${'x'.repeat(200_000)}"}`, '9'.repeat(400), `{"${'k'.repeat(5_000)}":1}`],
]
const CODINGS = ['', '', '', '', 'gzip', 'deflate', 'br', 'gzip, br', 'identity', 'zstd', 'gzip;q=1', 'x']
const SUFFIXES = [
  '',
  '/',
  '/a/b?c=d',
  '//a',
  '/%2F',
  '/a%00b',
  '/..',
  '/%2e%2e/',
  '/\\',
  '?',
  '?a=%',
  '/%C3%BC',
  '?&&svc-proxy-key=x',
]

/** Expressions whose values code returns, or throws. */
const RETURNED = [
  ...[
    'undefined',
    'null',
    '{}',
    '[]',
    '"x"',
    '{ body: args.body, headers: args.headers }',
    '{ body: {}, headers: {} }',
  ],
  ...[
    '{ body: null, headers: null }',
    '{ body: 1n, headers: {} }',
    '{ body: "", headers: { "content-type": "text/plain" } }',
  ],
  ...['{ body: { a: { b: 1 } }, headers: { "content-type": "application/x-www-form-urlencoded" } }'],
  ...[
    '{ body: [NaN, -0, undefined], headers: args.headers }',
    '{ body: "x".repeat(300000), headers: args.headers }',
  ],
  ...[
    '{ body: {}, headers: { "": 1 } }',
    '{ body: {}, headers: { "a:b": 1, "c d": 2 } }',
    '{ body: {}, headers: { a: "\\n" } }',
  ],
  ...[
    '{ body: {}, headers: { "content-length": 5, host: "x", "transfer-encoding": "chunked", ":path": "/" } }',
  ],
  ...[
    '{ body: {}, headers: { "content-type": "application/json, text/plain" } }',
    '{ body: {}, headers: { a: "😀" } }',
  ],
  ...[
    '{ body: { toJSON() { throw 1 } }, headers: {} }',
    'new Proxy({}, { get() { throw 2 } })',
    '{ get body() { return 1 }, headers: {} }',
  ],
  ...[
    '{ body: new Date(0), headers: { "set-cookie": ["a=b", "c=d"], "x": [] } }',
    '{ raw: 1, tokenize: 2 }',
    'new Map()',
  ],
  ...[
    '{ raw: args, tokenize: { a: 1, b: [null], c: { type: "card", data: 5 } } }',
    '{ tokenize: "" }',
    '{ tokenize: { type: "nope" } }',
  ],
  ...[
    '{ raw: undefined }',
    '{ tokens: 1 }',
    '(() => { throw undefined })()',
    '(() => { throw { message: {} } })()',
    'Promise.reject()',
  ],
  ...[
    '(() => { const e = new Error("x"); Object.defineProperty(e, "stack", { get() { throw 3 } }); throw e })()',
    'Symbol()',
  ],
  ...[
    '(() => { throw new (require("sidevault").CustomHttpResponseError)({ status: 299, headers: { "x\\ny": 1 }, body: "\\ud800" }) })()',
  ],
  ...[
    '(() => { throw new (require("sidevault").CustomHttpResponseError)({ status: 204, headers: { a: null }, body: {} }) })()',
  ],
  ...[
    '(() => { throw new (require("sidevault").BadRequestError)({ deep: [1] }) })()',
    'fetch("https://nowhere.invalid/")',
    'fetch(5)',
  ],
  ...[
    'bt.tokens.create()',
    'bt.tokens.retrieve(args.body)',
    'bt.tokenize(args.body)',
    'bt.detokenize({ a: "{{" })',
    'bt.reactors.react("x", 1)',
  ],
]
const RESPONSES = [
  { status: 200, headers: { 'content-type': JSON_TYPE }, body: '{"a":1}' },
  { status: 201, headers: { 'content-type': JSON_TYPE }, body: '' },
  { status: 204, headers: {} },
  { status: 200, headers: { 'content-type': JSON_TYPE }, body: '{' },
  { status: 200, headers: { 'content-type': FORM_TYPE }, body: 'a=%zz&b' },
  { status: 200, headers: { 'content-type': JSON_TYPE, 'content-encoding': 'gzip' }, body: 'no gzip' },
  { status: 200, headers: { 'content-type': 'text/plain' }, body: '\u0000' },
  { status: 200, headers: { 'content-type': `${JSON_TYPE}, text/plain` }, body: '{}' },
  { status: 404, headers: { 'content-type': JSON_TYPE }, body: '{' },
  { status: 302, headers: { location: 'https://127.0.0.1/' } },
]
const IDS = ['', '..', '%00', '%', 'x', '00000000-0000-0000-0000-000000000000', '{{ CARD }}', 'a'.repeat(500)]
const CALLBACKS = [
  ...[
    undefined,
    undefined,
    undefined,
    '',
    'x',
    'https://',
    'http://dest.test/',
    'https://127.0.0.1/',
    'https://[::1]/',
  ],
  ...[
    'https://user:pw@dest.test/',
    'https://dest.test:1/',
    'file:///etc/passwd',
    'https://169.254.169.254/',
    5,
    null,
    {},
  ],
  ...[
    'https://dest.test/{{ CARD }}',
    `https://dest.test/${'a'.repeat(500)}`,
    'https://\u0000/',
    '//dest.test',
  ],
]
/** ms within which a busy machine may have no process free for the code: then 503 says so. */
const HASTE = 1
const TIMEOUTS = [undefined, undefined, undefined, HASTE, 0, -1, 1.5, 1e9, '5', null, {}]

const { sidevault, url } = await startOutside()
const management = sidevault.managementKey
const create = async (path: string, body: object, key = management) => {
  const response = await sidevault.call('POST', path, { key, body })
  if (response.status !== 201) throw new Error(response.text)
  return response.json
}
const application = await create('/applications', {
  name: 'code',
  type: 'private',
  permissions: ALL_TOKEN_PERMISSIONS,
})
const { key } = application
const card = await create('/tokens', { type: 'card', data: { number: '5555555555554444' } }, key)
const withCard = (text: string) => text.replaceAll('CARD', card.id)

/** Code that returns what the numbered expression says; the number comes with the message. */
const chosen = `
const choices = [${RETURNED.map((text) => `({ args, bt }) => (${text})`).join(',\n')}]
module.exports = async (req) => {
  const { body, headers = {} } = req.args
  return (choices[headers['x-choice'] ?? body?.choice] ?? choices[5])(req)
}`
const IDENTITY = 'module.exports = async ({ args }) => ({ body: args.body, headers: args.headers })'

const failures = (
  response: { status: number; text: string; own: boolean },
  hasty: boolean,
): string | undefined => {
  const late = hasty && response.status === 503
  if (!late && !ALLOWED.has(response.status))
    return `status ${response.status}: ${response.text.slice(0, 200)}`
  if (/5555555555554444.*proxy_error|proxy_error.*5555555555554444/s.test(response.text))
    return 'a card in an error'
  if (/node:|isolated|\/src\/|at Object\./.test(response.text))
    return `a place of ours: ${response.text.slice(0, 200)}`
  if (response.status < 400 || !response.own) return undefined
  try {
    const { proxy_error, ...other } = JSON.parse(response.text)
    const problem = proxy_error ?? other
    if (problem.status === response.status && typeof problem.detail === 'string') return undefined
  } catch {}
  return `${response.status} without the shape of errors: ${response.text.slice(0, 200)}`
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
  /** It gives its code next to no time. */
  readonly hasty?: boolean
}

/** Asks all of it, a few at a time; what was wrong, and how often each status came. */
const askAll = async (asked: readonly Asked[]) => {
  const wrong: string[] = []
  const statuses: Record<number, number> = {}
  const rest = asked.values()
  const lane = async () => {
    for (const { method, path, headers, body, hasty = false } of rest) {
      const response = await call(sidevault.port, path, {
        method,
        headers,
        key: null,
        ...(body === undefined ? {} : { body }),
      })
      const { text } = response
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
      const own = !('svc-proxy-destination-status' in response.headers) && !/^\{"own":/.test(text)
      const failure = failures({ status: response.status, text, own }, hasty)
      if (failure !== undefined)
        wrong.push(`${method} ${path} ${JSON.stringify(headers)} ${String(body).slice(0, 100)} → ${failure}`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane))
  return { wrong, statuses }
}

const one = <T>(values: readonly T[]) => fc.nat(values.length - 1).map((at) => values[at] as T)

const coded = (text: string, coding: string, honest: boolean): Buffer => {
  const bytes = Buffer.from(text)
  if (!honest) return bytes
  if (coding === 'gzip') return gzipSync(bytes)
  if (coding === 'deflate') return deflateSync(bytes)
  if (coding === 'br') return brotliCompressSync(bytes)
  return coding === 'gzip, br' ? brotliCompressSync(gzipSync(bytes)) : bytes
}

t.test('generated calls through proxies with code never end as an internal error', async (t) => {
  const destination_url = url('/response')
  const made_ = { name: 'proxy', destination_url, application: { id: application.id } }
  const proxies: readonly { readonly key: string }[] = await Promise.all(
    [
      { request_transform: { code: chosen } },
      { response_transform: { code: chosen } },
      { request_transform: { code: IDENTITY }, response_transform: { code: chosen } },
      { request_transform: { code: chosen }, response_transform: { code: IDENTITY }, require_auth: false },
    ].map((transforms) => create('/proxies', { ...made_, ...transforms })),
  )
  const calls = fc.record({
    proxy: one(proxies),
    method: one(['POST', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'GET']),
    suffix: one(SUFFIXES),
    type: one(TYPES),
    body: one(BODIES),
    coding: one(CODINGS),
    honest: fc.boolean(),
    choice: fc.nat(RETURNED.length - 1),
    responseOf: one(RESPONSES),
    dry: fc.nat(5),
    as: one([key, key, key, management]),
  })
  const asked = fc.sample(calls, { numRuns: PROXIED, seed: 20261121 }).map((one): Asked => {
    const { proxy, method, suffix, type, body, coding, honest, choice, responseOf: response, dry, as } = one
    return {
      method,
      path: `/proxy${suffix}`,
      headers: {
        'svc-api-key': as,
        'svc-proxy-key': proxy.key,
        'x-choice': `${choice}`,
        'x-response': JSON.stringify(response),
        ...(type === '' ? {} : { 'content-type': type }),
        ...(coding === '' ? {} : { 'content-encoding': coding }),
        ...(dry === 0 ? { 'svc-proxy-dry-run': 'true' } : {}),
      },
      body: method === 'GET' ? undefined : coded(withCard(body), coding, honest),
    }
  })
  const { wrong, statuses } = await askAll(asked)
  t.comment(`responses by status: ${JSON.stringify(statuses)}`)
  for (const line of wrong.slice(0, 20)) t.fail(line)
  t.equal(wrong.length, 0)
})

t.test('generated calls of reactors never end as an internal error', async (t) => {
  const made_ = { name: 'reactor', application: { id: application.id } }
  const { id } = await create('/reactors', {
    ...made_,
    code: chosen.replace('req.args\n', 'Object(req.args)\n'),
  })
  const calls = fc.record({
    id: fc.nat(9),
    strange: one(IDS),
    path: one(['react', 'react', 'react', 'react-async', 'results/x']),
    args: one(BODIES),
    choice: fc.nat(RETURNED.length - 1),
    chosen: fc.boolean(),
    callback_url: one(CALLBACKS),
    timeout_ms: one(TIMEOUTS),
  })
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  }
  const asked = fc.sample(calls, { numRuns: REACTED, seed: 20261122 }).map((one): Asked => {
    const args = one.chosen ? { choice: one.choice } : parsed(withCard(one.args))
    return {
      method: one.path.startsWith('results') ? 'GET' : 'POST',
      path: `/reactors/${one.id === 0 ? encodeURIComponent(one.strange) : id}/${one.path}`,
      headers: { 'svc-api-key': key, 'content-type': JSON_TYPE },
      body: one.path.startsWith('results')
        ? undefined
        : JSON.stringify({ args, callback_url: one.callback_url, timeout_ms: one.timeout_ms }),
      hasty: one.timeout_ms === HASTE,
    }
  })
  const { wrong, statuses } = await askAll(asked)
  t.comment(`responses by status: ${JSON.stringify(statuses)}`)
  for (const line of wrong.slice(0, 20)) t.fail(line)
  t.equal(wrong.length, 0)
})

t.test('the service stays ready', async (t) => {
  t.equal((await sidevault.call('GET', '/readyz')).status, 200)
  t.notMatch(sidevault.stdout() + sidevault.stderr(), /5555555555554444|uncaught/i)
})
