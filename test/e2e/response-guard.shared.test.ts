import t from 'tap'
import { startOutside } from '../kit/outside.ts'

/** The whole program, and a destination that repeats what it got: which setting guards a response (completions §17). */
const { sidevault, url } = await startOutside()

const NUMBER = '4242424242424242'
const management = sidevault.managementKey
const call = async (method: string, path: string, body: object, key = management) => {
  const response = await sidevault.call(method, path, { key, body })
  if (response.status >= 300) throw new Error(response.text)
  return response.json
}
const APPLICATION = { name: 'a', type: 'private', permissions: ['token:create', 'token:use'] }
const { id: applicationId, key } = await call('POST', '/applications', APPLICATION)
const data = { number: NUMBER, expiration_month: 1, expiration_year: 2031 }
const { id: card } = await call('POST', '/tokens', { type: 'card', data }, key)
const EXPRESSION = `{{ ${card} | json: '$.number' }}`

/** A call whose destination responds with `repeated`. */
const send = (token: string, repeated: string, headers: Record<string, string> = {}) => {
  const response = {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ was: repeated }),
  }
  return sidevault.call('POST', '/proxy/response', {
    key,
    body: { sent: token },
    headers: {
      ...(headers['svc-proxy-key'] ? {} : { 'svc-proxy-url': url() }),
      'x-response': JSON.stringify(response),
      ...headers,
    },
  })
}
const sendCard = (headers?: Record<string, string>) => send(EXPRESSION, NUMBER, headers)
/** The mode that a dry run reports. */
const reported = async (headers?: Record<string, string>) =>
  (await sendCard({ 'svc-proxy-dry-run': 'true', ...headers })).json.guard

t.test('the response to the first request after an egress_only token was stored has no value', async (t) => {
  const before = await sendCard()
  t.same(before.json, { was: NUMBER }, 'by default a value comes back')
  t.equal(before.headers.get('svc-proxy-guard'), null)
  const secret = await call('POST', '/tokens', { data: 'only-ever-sent', egress_only: true }, key)
  const { status, json, headers } = await send(`{{ ${secret.id} }}`, 'only-ever-sent')
  t.equal(status, 200)
  t.same(json, { was: `{{ ${secret.id} }}` })
  t.equal(headers.get('svc-proxy-guard'), 'replaced=1')
  t.same((await sendCard()).json, { was: NUMBER }, 'other values are not its concern')
})

t.test('the strictest of tenant, application, proxy and call holds from the next request on', async (t) => {
  t.same(await reported(), { mode: 'off', from: 'default' })
  t.same(await reported({ 'svc-proxy-guard': 'replace' }), { mode: 'replace', from: 'call' })
  t.same((await sendCard({ 'svc-proxy-guard': 'replace' })).json, { was: EXPRESSION })

  await call('PUT', `/applications/${applicationId}`, { ...APPLICATION, response_guard: 'report' })
  t.same(await reported(), { mode: 'report', from: 'application' })
  t.equal((await sendCard()).headers.get('svc-proxy-guard'), 'reported=1')
  t.same(await reported({ 'svc-proxy-guard': 'off' }), { mode: 'report', from: 'application' })

  const body = { name: 'p', destination_url: url(), response_guard: 'replace' }
  const proxy = await call('POST', '/proxies', body)
  const stored = { 'svc-proxy-key': proxy.key }
  t.same(await reported(stored), { mode: 'replace', from: 'proxy' })
  t.same((await sendCard(stored)).json, { was: EXPRESSION })

  await call('PUT', '/tenants/self', { name: 'x', settings: { response_guard: 'block' } })
  t.same(await reported(stored), { mode: 'block', from: 'tenant' })
  t.match(await sendCard(stored), { status: 502, json: { proxy_error: { code: 'value_in_response' } } })
  await call('PUT', '/tenants/self', { name: 'x', settings: {} })
  await call('PUT', `/applications/${applicationId}`, APPLICATION)
  t.same(await reported(), { mode: 'off', from: 'default' })
  t.same((await sendCard()).json, { was: NUMBER })
})

t.test('an unknown mode of a call is 400, and names the four', async (t) => {
  const { status, json } = await sendCard({ 'svc-proxy-guard': 'on' })
  t.equal(status, 400)
  t.match(json.proxy_error, { code: 'malformed', detail: /off, report, replace, block/ })
})
