/**
 * SIDEVAULT_BOOTSTRAP_KEY=<management key> node run.js <URL of the vault>: creates an application and a stored proxy,
 * calls the proxy, and shows the response.
 */
import { readFileSync } from 'node:fs'

const [address = 'http://127.0.0.1:8080'] = process.argv.slice(2)
const { SIDEVAULT_BOOTSTRAP_KEY: managementKey, SIDEVAULT_API_URL: api = address } = process.env
if (!managementKey) throw new Error('Export SIDEVAULT_BOOTSTRAP_KEY: the management key.')

const call = async (method, path, headers, body) => {
  const response = await fetch((path === '/proxy' ? address : api) + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} responded with ${response.status}: ${text}`)
  return JSON.parse(text)
}

const management = { 'svc-api-key': managementKey }
const application = await call('POST', '/applications', management, {
  name: 'Inbound',
  type: 'private',
  permissions: ['token:create', 'token:use'],
})
const proxy = await call('POST', '/proxies', management, {
  name: 'Card issuer',
  // The demo destination responds with the request it received, like an issuer that sends cards.
  destination_url: 'https://demo.sidevault.test/cards',
  application: { id: application.id },
  response_transform: { code: readFileSync(new URL('response-transform.js', import.meta.url), 'utf8') },
})
const response = await call(
  'POST',
  '/proxy',
  { 'svc-api-key': application.key, 'svc-proxy-key': proxy.key },
  { cards: [{ number: '4242424242424242', name: 'Ada Lovelace' }] },
)
console.log(JSON.stringify(response.body, null, 2))
