import fc from 'fast-check'
import t from 'tap'
import { ERRORS } from '../../src/common/errors.ts'
import { LONG } from '../kit/long.ts'
import { FORWARD_PROXY, sharedSidevault } from '../kit/shared-sidevault.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Statuses that the table of completions §2 names, and the successes. 500 is never right. */
const ALLOWED = new Set([
  200, 201, 202, 204, 400, 401, 403, 404, 405, 408, 409, 411, 413, 414, 415, 422, 429, 431, 502, 503, 504,
])
const TOTAL = LONG ? 10_000 : 200
const CONCURRENCY = 24

const nasty = [
  '',
  'null',
  '[]',
  '{}',
  '""',
  '0',
  '-1',
  '1e400',
  'true',
  '\u0000',
  '\ud800',
  '{{',
  '}}',
  '{{ }}',
  '{{ x | json: "$[" }}',
  '{{ x | where: "a.a" }}',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '%2e%2e%2f',
  '%',
  '%zz',
  '%00',
  "'; drop table tokens; --",
  '$.a',
  'a'.repeat(5000),
  '{'.repeat(3000),
  '['.repeat(3000),
  '9'.repeat(400),
  'https://127.0.0.1/',
  'https://[::1]/',
  'http://demo.sidevault.test',
  '\r\nx: y',
  '😀',
  '\\u007b\\u007b x }}',
]

/** A mutation of `text`: a slice cut, doubled, replaced by something nasty, or a byte changed. */
const mutateText = (text: string, kind: number, at: number, length: number, pick: number): string => {
  const start = text.length === 0 ? 0 : at % text.length
  const end = Math.min(text.length, start + (length % 40))
  const insert = nasty[pick % nasty.length]!
  switch (kind % 5) {
    case 0:
      return text.slice(0, start) + text.slice(end)
    case 1:
      return text.slice(0, end) + text.slice(start)
    case 2:
      return text.slice(0, start) + insert + text.slice(end)
    case 3:
      return text.slice(0, start) + String.fromCharCode(32 + (pick % 95)) + text.slice(start + 1)
    default:
      return insert
  }
}

/** Replaces one value somewhere inside a JSON body by one of another kind, so that it stays JSON. */
const mutateValue = (body: string, at: number, pick: number): string => {
  const values: unknown[] = [
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    '',
    [],
    {},
    [[]],
    { __proto__: 1 },
    nasty[pick % nasty.length],
    'x'.repeat(600),
  ]
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return body
  }
  const places: [Record<string, unknown>, string][] = []
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    for (const name of Object.keys(value)) {
      places.push([value as Record<string, unknown>, name])
      visit((value as Record<string, unknown>)[name])
    }
  }
  visit(parsed)
  const place = places[at % Math.max(1, places.length)]
  if (place === undefined) return JSON.stringify(values[pick % values.length])
  if (pick % 7 === 0) delete place[0][place[1]]
  else place[0][place[1]] = values[pick % values.length]
  return JSON.stringify(parsed)
}

t.test(
  `${TOTAL} mutations of valid requests give no 500, no crash, and only statuses of the table`,
  async (t) => {
    const vault = await sharedSidevault(FORWARD_PROXY)
    const key = await vault.application({ permissions: ALL_TOKEN_PERMISSIONS })
    const json = { 'content-type': 'application/json' }
    const create = await vault.call('POST', '/tokens', {
      key,
      body: {
        type: 'card',
        data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 },
      },
    })
    const id = create.json.id
    const app = await vault.call('POST', '/applications', {
      key: vault.managementKey,
      body: { name: 'a', type: 'private', permissions: ['token:read'] },
    })
    const management = { ...json, 'svc-api-key': vault.managementKey }
    const service = { ...json, 'svc-api-key': key }
    const proxy = { ...service, 'svc-proxy-url': 'https://demo.sidevault.test/echo' }
    const seeds: Request[] = [
      {
        method: 'POST',
        path: '/tokens',
        headers: service,
        body: '{"type":"token","data":{"a":[1,"x"]},"metadata":{"k":"v"},"search_indexes":["{{ data.a | json: \'$[1]\' }}"],"fingerprint_expression":"{{ data }}","mask":"{{ data | stringify | reveal_last: 2 }}","containers":["/a/b/"],"expires_at":"2999-01-01T00:00:00Z"}',
      },
      {
        method: 'POST',
        path: '/tokens',
        headers: service,
        body: '{"type":"card","data":{"number":"4242424242424242","expiration_month":1,"expiration_year":2031,"cvc":"123"}}',
      },
      {
        method: 'POST',
        path: '/tokens',
        headers: service,
        body: '{"type":"bank","data":{"routing_number":"021000021","account_number":"1234567"},"id":"{{ data.account_number | alias_preserve_format: 2, 2 }}"}',
      },
      { method: 'GET', path: `/tokens/${id}`, headers: service, body: undefined },
      {
        method: 'GET',
        path: '/tokens?page=1&size=10&type=card&id=a&id=b&metadata.k=v',
        headers: service,
        body: undefined,
      },
      {
        method: 'GET',
        path: '/v2/tokens?size=3&container=/pci/high/&metadata[k]=v',
        headers: service,
        body: undefined,
      },
      {
        method: 'PATCH',
        path: `/tokens/${id}`,
        headers: { ...service, 'content-type': 'application/merge-patch+json' },
        body: '{"data":{"expiration_month":2},"metadata":{"k":null}}',
      },
      {
        method: 'POST',
        path: '/tokens/search',
        headers: service,
        body: '{"query":"type:card AND NOT (metadata.k:\\"v w\\" OR created_at:[2020-01-01 TO *])","page":1,"size":5}',
      },
      {
        method: 'POST',
        path: '/v2/tokens/search',
        headers: service,
        body: '{"query":"data:4242 OR container:/pci/*","size":5}',
      },
      {
        method: 'POST',
        path: '/tokenize',
        headers: service,
        body: '{"a":"x","b":[{"type":"card","data":{"number":"4242424242424242"}},1,null]}',
      },
      {
        method: 'POST',
        path: '/detokenize',
        headers: service,
        body: `{"a":"{{ ${id} | json: '$.number' | last4 }}","b":["{{ token: ${id} }}"]}`,
      },
      {
        method: 'POST',
        path: '/applications',
        headers: management,
        body: '{"name":"n","type":"private","rules":[{"description":"d","priority":1,"container":"/pci/","transform":"mask","permissions":["token:read"]}]}',
      },
      { method: 'GET', path: `/applications/${app.json.id}`, headers: management, body: undefined },
      {
        method: 'PUT',
        path: `/applications/${app.json.id}`,
        headers: management,
        body: '{"name":"n","permissions":["token:read"],"rules":[]}',
      },
      {
        method: 'GET',
        path: '/applications?id=a&type=private&page=1&size=20',
        headers: management,
        body: undefined,
      },
      { method: 'GET', path: `/applications/${app.json.id}/keys`, headers: management, body: undefined },
      { method: 'GET', path: '/permissions?application_type=private', headers: management, body: undefined },
      { method: 'GET', path: '/tenants/self', headers: management, body: undefined },
      {
        method: 'POST',
        path: '/proxy/a?b=c',
        headers: proxy,
        body: `{"n":"{{ ${id} | json: '$.number' }}","x":"a {{ ${id} | json: '$.expiration_month' }} b"}`,
      },
      {
        method: 'PUT',
        path: '/proxy',
        headers: { ...proxy, 'content-type': 'application/x-www-form-urlencoded' },
        body: `a=%7B%7B+${id}+%7D%7D&b=c`,
      },
      {
        method: 'POST',
        path: '/proxy',
        headers: { ...proxy, 'content-type': 'text/xml' },
        body: `<a>{{ ${id} | json: '$.number' }}</a>`,
      },
      { method: 'GET', path: '/proxy/x', headers: proxy, body: undefined },
    ]

    const responded = new Map<number, number>()
    const wrong: string[] = []
    const send = async (request: Request) => {
      let response: Response
      try {
        response = await fetch(vault.url + request.path, {
          method: request.method,
          headers: request.headers,
          ...(request.body === undefined ? {} : { body: request.body }),
          signal: AbortSignal.timeout(60_000),
          redirect: 'manual',
        })
      } catch (error) {
        // Requests that fetch itself rejects (a header with a line break, a bad URL) never reach the service.
        if (
          error instanceof TypeError &&
          !String(error.cause ?? '').includes('ECONN') &&
          !String(error.cause ?? '').includes('socket')
        )
          return
        wrong.push(`${request.method} ${request.path.slice(0, 60)}: ${error} ${(error as Error).cause ?? ''}`)
        return
      }
      responded.set(response.status, (responded.get(response.status) ?? 0) + 1)
      const text = await response.text()
      const fromDestination = response.headers.has('svc-proxy-destination-status')
      if (!ALLOWED.has(response.status))
        wrong.push(
          `${response.status} ${request.method} ${request.path.slice(0, 60)} ${request.body?.slice(0, 300)}`,
        )
      if (response.status >= 400 && !fromDestination && request.method !== 'HEAD') {
        const parsed = (() => {
          try {
            return JSON.parse(text)
          } catch {
            return undefined
          }
        })()
        const problem = parsed?.proxy_error ?? parsed
        if (
          !Object.hasOwn(ERRORS, problem?.code) ||
          problem.type !== `/docs/errors#${problem.code}` ||
          typeof problem?.title !== 'string' ||
          problem?.status !== response.status ||
          typeof problem?.detail !== 'string'
        )
          wrong.push(
            `${response.status} without the error shape: ${request.method} ${request.path.slice(0, 60)} → ${text.slice(0, 200)}`,
          )
      }
    }

    const mutations = fc.sample(
      fc.record({
        seed: fc.nat(seeds.length - 1),
        part: fc.nat(9),
        kind: fc.nat(4),
        at: fc.nat(2000),
        length: fc.nat(100),
        pick: fc.nat(5000),
      }),
      { numRuns: TOTAL, seed: 20261121 },
    )
    const requests = mutations.map(({ seed, part, kind, at, length, pick }): Request => {
      const request = seeds[seed]!
      if (part <= 3 && request.body !== undefined)
        return { ...request, body: mutateValue(request.body, at, pick) }
      if (part <= 6 && request.body !== undefined)
        return { ...request, body: mutateText(request.body, kind, at, length, pick) }
      if (part === 7)
        return { ...request, path: `/${mutateText(request.path.slice(1), kind, at, length, pick)}` }
      if (part === 8)
        return {
          ...request,
          // A tenant that deletes itself would end the test, rightly.
          method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'][
            request.path === '/tenants/self' ? pick % 4 : pick % 7
          ]!,
          body: undefined,
        }
      const names = Object.keys(request.headers)
      const name = names[at % names.length]!
      return {
        ...request,
        headers: {
          ...request.headers,
          [name]: mutateText(request.headers[name]!, kind, at, length, pick).replace(/[^\x20-\x7e]/g, '?'),
        },
      }
    })
    let next = 0
    const lane = async () => {
      while (next < requests.length) await send(requests[next++]!)
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, lane))
    t.comment(`responses by status: ${JSON.stringify(Object.fromEntries([...responded].sort()))}`)
    for (const line of wrong.slice(0, 20)) t.fail(line)
    t.equal(wrong.length, 0, 'every error is of the table and has the error shape')
    t.equal((await vault.call('GET', '/readyz')).status, 200, 'the service is as ready as before')
    // Of a tenant that no request has changed.
    const other = await sharedSidevault(FORWARD_PROXY)
    const fresh = await other.application({ permissions: ALL_TOKEN_PERMISSIONS })
    const { json: token } = await other.call('POST', '/tokens', { key: fresh, body: { data: 'still there' } })
    const still = await other.call('POST', '/proxy', {
      key: fresh,
      headers: { 'svc-proxy-url': 'https://demo.sidevault.test/echo' },
      body: { n: `{{ ${token.id} }}` },
    })
    t.match(still, { status: 200, json: { body: { n: 'still there' } } }, 'the proxy still responds')
    t.notMatch(vault.stderr(), /heap|FATAL|uncaught/i, 'nothing crashed')
  },
)
