// SIDEVAULT_BOOTSTRAP_KEY=<management key> node run.js <Sidevault's URL> <destination's URL> <folder>
// The folder contains client.pem, client-key.pem and ca.pem.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const [vault, destination, folder] = process.argv.slice(2)
const { SIDEVAULT_BOOTSTRAP_KEY: managementKey, SIDEVAULT_API_URL: api = vault } = process.env
if (!managementKey) throw new Error('Export SIDEVAULT_BOOTSTRAP_KEY: the management key.')
const read = (name) => readFileSync(join(folder, name), 'utf8')

const call = async (method, path, key, body, headers = {}) => {
  const response = await fetch((/^\/proxy\b/.test(path) ? vault : api) + path, {
    method,
    headers: { 'SVC-API-KEY': key, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}
const made = async (path, key, body) => {
  const response = await call('POST', path, key, body)
  if (response.status !== 201) throw new Error(`${path}: ${JSON.stringify(response.body)}`)
  return response.body
}

const { key } = await made('/applications', managementKey, {
  name: 'Payments',
  type: 'private',
  permissions: ['token:create', 'token:use'],
})
const token = await made('/tokens', key, { type: 'token', data: '4242424242424242' })

const proxy = await made('/proxies', managementKey, {
  name: 'A bank',
  destination_url: destination,
  destination_tls: {
    client_certificate: read('client.pem'),
    client_key: read('client-key.pem'),
    ca: read('ca.pem'),
  },
})
const body = { card: `{{ ${token.id} }}` }
const through = await call('POST', '/proxy', key, body, { 'SVC-PROXY-KEY': proxy.key })
const without = await call('POST', '/proxy', key, body, { 'SVC-PROXY-URL': destination })

process.stdout.write(
  `${JSON.stringify({ certificates: proxy.destination_tls, through, without }, null, 2)}\n`,
)
