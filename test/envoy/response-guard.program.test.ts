import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { type CallOptions, call, KEYS, startWorld, TOKENS } from '../kit/egress.ts'
import { type Mirrored, startMirror } from '../kit/mirror.ts'
import { until } from '../kit/until.ts'
import { upload } from '../kit/upload.ts'

const NUMBER = '4242424242424242'
const NAME = 'Ada "the first" Lovelace'
const ONLY_SENT = 'IBAN-DE02120300000000202051'

const world = await startWorld({
  gateway: { limits: { searchMs: 60_000 } },
  deps: { tenantGuards: { of: () => ({ mode: undefined, hasEgressOnly: true }) } },
})
const certificate = await world.authority.issue(['dest.test'])
const mirrors = { h1: await startMirror(certificate, 'h1'), h2: await startMirror(certificate, 'h2') }
Object.assign(TOKENS, {
  secret: { ...TOKENS.name, id: 'secret', data: ONLY_SENT, isEgressOnly: true },
  cvc: { ...TOKENS.name, id: 'cvc', data: '987', isEgressOnly: true },
})
t.teardown(async () => {
  await mirrors.h1.close()
  await mirrors.h2.close()
  await world.close()
})

const JSON_TYPE = { 'content-type': 'application/json' }
const BODY = `{"card":"{{ card | json: '$.number' }}"}`

type Guarded = CallOptions & { readonly guard?: string; readonly protocol?: 'h1' | 'h2' }

/** A call that sends the card number, unless it says what else. */
const send = (
  response: Mirrored,
  { guard = 'replace', protocol = 'h1', headers, ...options }: Guarded = {},
) => {
  const mirror = mirrors[protocol]
  mirror.respond = () => response
  return call(world.port, '/proxy', {
    to: `https://dest.test:${mirror.port}/x`,
    body: BODY,
    ...options,
    headers: { ...JSON_TYPE, 'svc-proxy-guard': guard, ...headers },
  })
}

const findings = () => world.far.records.filter(({ operation }) => operation === 'guard')
t.beforeEach(() => {
  world.far.records.length = 0
})

for (const protocol of ['h1', 'h2'] as const) {
  t.test(`${protocol}: a value that comes back is an expression again`, async (t) => {
    const response = { headers: JSON_TYPE, pieces: [`{"ok":true,"n":${NUMBER},"c":"card ${NUMBER}!"}`] }
    const { status, headers, json } = await send(response, { protocol })
    t.equal(status, 200)
    t.equal(headers['svc-proxy-guard'], 'replaced=2')
    t.strictSame(json, {
      ok: true,
      n: "{{ card | json: '$.number' }}",
      c: "card {{ card | json: '$.number' }}!",
    })
    t.match(mirrors[protocol].headers, { 'accept-encoding': 'identity' })
    const again = { pieces: ['fine'] }
    let received = ''
    mirrors[protocol].respond = (body) => {
      received = body
      return again
    }
    await call(world.port, '/proxy', {
      to: `https://dest.test:${mirrors[protocol].port}/x`,
      body: JSON.stringify(json),
      headers: JSON_TYPE,
    })
    t.strictSame(JSON.parse(received), { ok: true, n: NUMBER, c: `card ${NUMBER}!` }, 'it resolves again')
    await until('a record', () => findings().length === 1)
    t.match(findings()[0], {
      entity_type: 'token',
      entity_id: 'card',
      message: 'Value in the response of dest.test: replaced at /n and 1 more',
    })
  })

  for (const [coding, encode] of Object.entries({
    gzip: gzipSync,
    deflate: deflateSync,
    raw: deflateRawSync,
    br: brotliCompressSync,
  }))
    t.test(`${protocol}: a response in ${coding} is decoded, in any cut`, async (t) => {
      const coded = encode(Buffer.from(`{"a":"${NUMBER}","b":"${'ö'.repeat(50)}"}`))
      for (let cut = 0; cut < coded.length; cut += 7) {
        const pieces = [coded.subarray(0, cut), coded.subarray(cut)].filter(({ length }) => length > 0)
        const headers = {
          ...JSON_TYPE,
          'content-encoding': coding === 'raw' ? 'deflate' : coding,
          etag: '"1"',
        }
        const got = await send({ headers, pieces }, { protocol })
        t.strictSame(got.json, { a: "{{ card | json: '$.number' }}", b: 'ö'.repeat(50) }, `cut ${cut}`)
        t.notOk(got.headers['content-encoding'] ?? got.headers.etag)
      }
    })

  t.test(`${protocol}: headers and trailers are searched`, async (t) => {
    const { headers, text } = await send(
      {
        headers: { 'x-card': `is ${NUMBER}`, location: `/cards/${NUMBER}` },
        pieces: ['fine'],
        trailers: { 'x-sum': 'ok' },
      },
      { protocol },
    )
    t.equal(text, 'fine')
    t.equal(headers['x-card'], "is {{ card | json: '$.number' }}")
    t.notMatch(headers.location, NUMBER)
    t.equal(headers['svc-proxy-guard'], 'replaced=2')
  })

  t.test(`${protocol}: block`, async (t) => {
    const small = await send(
      { headers: JSON_TYPE, pieces: [`{"c":"${NUMBER}"}`] },
      { guard: 'block', protocol },
    )
    t.equal(small.status, 502)
    t.equal(small.json.proxy_error.code, 'value_in_response')
    t.equal(small.headers['svc-proxy-outcome'], 'answered')
    t.equal(small.headers['svc-proxy-destination-status'], '200')
    const late = { pieces: ['x'.repeat(100_000), 'y'.repeat(100_000), NUMBER, 'z'.repeat(1_000)] }
    await t.rejects(send(late, { guard: 'block', protocol }), 'it breaks off')
  })
}

for (const protocol of ['h1', 'h2'] as const)
  t.test(`${protocol}: in every cut, and every form`, async (t) => {
    const forms = [
      ...[NUMBER, '4242-4242-4242-4242', encodeURIComponent(NUMBER)],
      ...[0, 1, 2].map((at) => Buffer.from(`${'x'.repeat(at)}${NUMBER}yy`).toString('base64')),
      ...[Buffer.from(NUMBER).toString('hex'), Buffer.from(NUMBER, 'utf16le').toString('latin1')],
    ]
    const text = Buffer.from(forms.join(' <&> '), 'latin1')
    const lengths = [{}, { 'content-length': String(text.length) }]
    for (let cut = 1; cut < text.length; cut += 1) {
      const headers = { 'content-type': 'application/octet-stream', ...lengths[cut % 2] }
      const got = await send({ headers, pieces: [text.subarray(0, cut), text.subarray(cut)] }, { protocol })
      t.equal(got.headers['svc-proxy-guard'], `replaced=${forms.length}`, `cut ${cut}`)
      for (const form of [NUMBER, '4242-', 'NDI0MjQy', 'I0MjQyNDI', '34323432']) t.notMatch(got.text, form)
      t.equal(got.text.split(' <&> ').length, forms.length)
    }
  })

t.test('the response to an upload is searched, also while it goes out', async (t) => {
  mirrors.h1.respond = (body) => ({ headers: JSON_TYPE, pieces: [body] })
  const pieces = ['[', ...Array.from({ length: 50 }, () => `{"a":"{{ card | json: '$.number' }}"},`), '0]']
  const got = await upload(world.port, `https://dest.test:${mirrors.h1.port}/x`, pieces, {
    headers: { ...JSON_TYPE, 'svc-proxy-guard': 'replace' },
  })
  t.notMatch(got.text, NUMBER)
  t.equal(got.json.length, 51)
  t.equal(got.json[7].a, "{{ card | json: '$.number' }}")
  const only = await upload(world.port, `https://dest.test:${mirrors.h1.port}/x`, ['{"a":"{{ secret }}"}'], {
    headers: JSON_TYPE,
  })
  t.strictSame(only.json, { a: '{{ secret }}' })
})

t.test('report changes nothing', async (t) => {
  const text = `{"c":"${NUMBER}"}`
  const got = await send({ headers: { ...JSON_TYPE, etag: '"1"' }, pieces: [text] }, { guard: 'report' })
  t.equal(got.text, text)
  t.equal(got.headers['svc-proxy-guard'], 'reported=1')
  t.equal(got.headers.etag, '"1"')
  await until('a record', () => findings().length === 1)
})

t.test('what holds no value arrives as it was sent', async (t) => {
  for (const guard of ['off', 'report', 'replace', 'block']) {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 7919) % 256))
    const headers = { 'content-type': 'application/octet-stream', etag: '"1"' }
    const got = await send({ headers, pieces: [bytes.subarray(0, 1_000), bytes.subarray(1_000)] }, { guard })
    t.equal(got.text, bytes.toString(), guard)
    const forged = { ...headers, 'svc-proxy-guard': 'forged' }
    const short = await send({ headers: forged, pieces: ['none'] }, { guard })
    t.equal(short.text, 'none')
    t.equal(short.headers.etag, '"1"')
    t.equal(short.headers['svc-proxy-guard'], guard === 'off' ? undefined : 'clean')
  }
})

t.test('a value that no caller may read never comes back', async (t) => {
  const body = '{"a":"{{ secret }}","b":"{{ cvc }}"}'
  const headers = JSON_TYPE
  const replaced = await send(
    { headers, pieces: [`{"a":"${ONLY_SENT}","b":987,"c":"987","d":"1987","n":"${NUMBER}"}`] },
    { guard: 'off', body },
  )
  t.strictSame(replaced.json, { a: '{{ secret }}', b: '{{ cvc }}', c: '{{ cvc }}', d: '1987', n: NUMBER })
  const coded = { headers: { ...headers, 'content-encoding': 'zstd' }, pieces: ['?'] }
  const rejected = await send(coded, { guard: 'off', body })
  t.equal(rejected.status, 502)
  t.equal(rejected.json.proxy_error.code, 'response_unreadable')
  const passed = await send(coded, { guard: 'replace' })
  t.equal(passed.text, '?')
  t.equal(passed.headers['svc-proxy-guard'], 'unreadable')
})

t.test('what filters made of a value, and its other members, are looked for', async (t) => {
  const got = await send(
    {
      headers: JSON_TYPE,
      pieces: [JSON.stringify({ up: NAME.toUpperCase(), hex: Buffer.from(NAME).toString('hex'), NAME })],
    },
    { body: '{"n":"{{ name | upcase }}"}' },
  )
  t.strictSame(got.json, { up: '{{ name | upcase }}', hex: '[token name]', NAME: '{{ name }}' })
})

t.test('events arrive whole, one by one', async (t) => {
  const seen: string[] = []
  let resume: () => void = () => {}
  mirrors.h1.respond = () => ({
    headers: { 'content-type': 'text/event-stream' },
    pieces: [`data: {"c":"${NUMBER}"}\n\n`, 'data: 4242\n\n', 'data: 3\n\n'],
    between: () => new Promise((resolve) => (resume = resolve)),
  })
  const response = await fetch(`http://127.0.0.1:${world.port}/proxy`, {
    method: 'POST',
    headers: {
      ...JSON_TYPE,
      'svc-api-key': KEYS.private,
      'svc-proxy-guard': 'replace',
      'svc-proxy-url': `https://dest.test:${mirrors.h1.port}/x`,
    },
    body: BODY,
  })
  t.equal(response.headers.get('svc-proxy-guard'), 'scanning')
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    seen.push(Buffer.from(chunk).toString())
    resume()
  }
  t.strictSame(seen, ['data: {"c":"{{ card | json: \'$.number\' }}"}\n\n', 'data: 4242\n\n', 'data: 3\n\n'])
})

t.test('the response of a transform is searched, and code counts as disclosed', async (t) => {
  world.far.proxies.set('proxy', {
    id: 'proxy-id',
    tenantId: 'tenant',
    requireAuth: true,
    configuration: {},
    destinationUrl: `https://dest.test:${mirrors.h1.port}`,
    responseTransform:
      'module.exports = ({ args: { body, headers } }) => ({ body: { ...body, more: body.c.slice(0, 8) + body.c.slice(8) }, headers })',
    responseGuard: 'replace',
  })
  const got = await send(
    { headers: JSON_TYPE, pieces: [`{"c":"4242`, `424242424242"}`] },
    { guard: 'off', headers: { 'svc-proxy-key': 'proxy' } },
  )
  const expression = "{{ card | json: '$.number' }}"
  t.strictSame(got.json, { c: expression, more: expression })
  const other = await send(
    { status: 422, headers: JSON_TYPE, pieces: [`{"c":"${NUMBER}"}`] },
    { guard: 'off', headers: { 'svc-proxy-key': 'proxy' } },
  )
  t.equal(other.status, 422)
  t.strictSame(other.json, { c: expression })
})

t.test('a broken response stays broken, and a false coding is no end', async (t) => {
  await t.rejects(
    send({ headers: { 'content-length': '200000' }, pieces: ['x'.repeat(100_000)], breaks: true }),
  )
  const coded = gzipSync('x'.repeat(10))
  const cut = { headers: { 'content-encoding': 'gzip' }, pieces: [coded.subarray(0, coded.length - 4)] }
  t.match((await send(cut)).json, { proxy_error: { code: 'response_unreadable' } })
  const bomb = { headers: { 'content-encoding': 'gzip' }, pieces: [gzipSync(Buffer.alloc(50_000_000))] }
  t.match((await send(bomb)).json, { proxy_error: { code: 'response_unreadable' } })
})

t.test('no body: 204, 304, and a destination that cannot be reached', async (t) => {
  for (const status of [204, 304]) {
    const got = await send({ status, headers: { 'x-card': NUMBER } })
    t.equal(got.status, status)
    t.notMatch(got.headers['x-card'], NUMBER)
  }
  const unreachable = await call(world.port, '/proxy', {
    to: 'https://dest.test:1/x',
    body: BODY,
    headers: { ...JSON_TYPE, 'svc-proxy-guard': 'block' },
  })
  t.equal(unreachable.json.proxy_error.code, 'destination_unreachable')
  const { values } = await world.far.deps.metrics.guard.unseen.get()
  t.equal(values[0]?.value, 0, 'every response was seen')
})
