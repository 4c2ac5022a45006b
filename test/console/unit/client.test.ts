import t from 'tap'
import { ApiError, createApi, path, queryText } from '../../../src/console/api/client.ts'
import { asApiError } from '../../../src/console/api/problem.ts'

const respond = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(body === undefined ? null : JSON.stringify(body), { status, headers })

const apiThat = (response: () => Response | Promise<Response>) => {
  const sent: { url: string; init: RequestInit }[] = []
  let unauthorized = 0
  const api = createApi(
    () => {
      unauthorized++
    },
    async (url, init = {}) => {
      sent.push({ url: String(url), init })
      return response()
    },
  )
  return { api, sent, unauthorized: () => unauthorized }
}

t.test('path and query parameters are encoded', async (t) => {
  t.equal(path`/tokens/${'a/../b?c#d'}/access`, '/tokens/a%2F..%2Fb%3Fc%23d/access')
  for (const id of ['.', '..']) t.throws(() => path`/tokens/${id}/access`, /cannot be part of a path/)
  t.equal(
    queryText({ a: 1, b: 'x&y', c: undefined, d: '', e: false, f: ['1', '2'] }),
    '?a=1&b=x%26y&e=false&f=1&f=2',
  )
  t.equal(queryText({}), '')
})

t.test('a call is sent below /console/api with the header against cross-site requests', async (t) => {
  const { api, sent } = apiThat(() => respond(200, { ok: 1 }))
  t.same(await api.call('POST', '/tokens', { body: { data: 'x' }, query: { a: 1 } }), { ok: 1 })
  const { url, init } = sent[0] ?? { url: '', init: {} }
  t.equal(url, '/console/api/tokens?a=1')
  t.match(init, { method: 'POST', body: '{"data":"x"}', credentials: 'same-origin', redirect: 'error' })
  t.match(init.headers, { 'x-sidevault-console': '1', 'content-type': 'application/json' })
})

t.test('a 204 is undefined', async (t) => {
  t.equal(await apiThat(() => respond(204, undefined)).api.call('DELETE', '/tokens/a'), undefined)
})

t.test('an error has code, messages by place, trace id and Retry-After', async (t) => {
  const problem = {
    code: 'invalid',
    title: 'Invalid',
    detail: 'No.',
    status: 400,
    errors: { name: ['is required', 1] },
  }
  const { api } = apiThat(() => respond(400, problem, { 'bt-trace-id': 'abc', 'retry-after': '3' }))
  const error = await api.call('GET', '/x').catch((thrown: unknown) => thrown)
  t.ok(error instanceof ApiError)
  t.match(error, { status: 400, code: 'invalid', detail: 'No.', traceId: 'abc', retryAfter: 3 })
  t.same((error as ApiError).issues, { name: ['is required'] })
})

t.test('proxy errors, responses without JSON and missing responses are errors too', async (t) => {
  const thrown = async (response: () => Response | Promise<Response>) =>
    asApiError(
      await apiThat(response)
        .api.call('GET', '/x')
        .catch((error: unknown) => error),
    )
  t.match(
    await thrown(() => respond(502, { proxy_error: { code: 'unreachable', title: 'T', detail: 'D' } })),
    {
      status: 502,
      code: 'unreachable',
    },
  )
  t.match(await thrown(() => new Response('<html>', { status: 500 })), { status: 500, code: '' })
  t.match(await thrown(() => Promise.reject(new TypeError('fetch failed'))), { status: 0 })
})

t.test('a 401 is reported: the session may have ended', async (t) => {
  const { api, unauthorized } = apiThat(() => respond(401, {}))
  await t.rejects(api.call('GET', '/x'))
  t.equal(unauthorized(), 1)
})

t.test('an entity is changed and deleted as it was read last', async (t) => {
  let version = 1
  const created = new Set(['POST /entities/a/parts', 'DELETE /entities/a/parts/1'])
  const sent: (string | null)[] = []
  const api = createApi(
    () => {},
    async (url, { method = 'GET', headers } = {}) => {
      const where = String(url).replace('/console/api', '')
      sent.push(new Headers(headers).get('if-match'))
      if (method === 'PATCH') version++
      return respond(created.has(`${method} ${where}`) ? 201 : 200, {}, { etag: `"${version}"` })
    },
  )
  const change = async () => {
    await api.call('PATCH', '/entities/a')
    return sent.at(-1)
  }
  t.equal(await change(), null, 'it was not read')
  await api.call('GET', '/entities/a', { query: { disclosure: 'mask' } })
  t.equal(sent.at(-1), null, 'a read has no condition')
  t.equal(await change(), '"2"')
  t.equal(await change(), '"3"', 'a change has a version too')
  version++
  await api.call('POST', '/entities/a/calls')
  t.equal(await change(), '"4"', 'somebody else changed it')
  await api.call('POST', '/entities/a/parts')
  t.equal(await change(), null, 'this page changed it by a new part')
  await api.call('GET', '/entities/ab')
  t.equal(await change(), '"7"', 'the read of another one changes nothing')
  await api.call('GET', '/proxy/a')
  await api.raw('PUT', '/proxy/a')
  t.equal(sent.at(-1), null, 'a destination')
})

t.test('a change that somebody else made first is reported to people', async (t) => {
  const { api } = apiThat(() => respond(412, { code: 'precondition_failed', detail: 'For programs.' }))
  const thrown = asApiError(await api.call('PATCH', '/x').catch((error: unknown) => error))
  t.match(thrown, { status: 412, detail: /^Somebody else changed it/ })
})
