// SIDEVAULT_BOOTSTRAP_KEY=<management key> node run.js <Sidevault's URL> <provider's URL> <another URL>
const [vault, provider, elsewhere] = process.argv.slice(2)
const { SIDEVAULT_BOOTSTRAP_KEY: managementKey, SIDEVAULT_API_URL: api = vault } = process.env
if (!managementKey) throw new Error('Export SIDEVAULT_BOOTSTRAP_KEY: the management key.')
const { hostname, port } = new URL(provider)

const call = async (method, path, key, body, headers = {}) => {
  const response = await fetch((/^\/proxy\b/.test(path) ? vault : api) + path, {
    method,
    headers: { 'SVC-API-KEY': key, 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
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
  permissions: ['token:create', 'token:read', 'token:use'],
})
const destinations = [{ host: hostname, ports: [Number(port || 443)], methods: ['POST'], path: '/v1/**' }]
const card = await made('/tokens', key, {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 },
  destinations,
})
const credential = await made('/tokens', key, {
  type: 'token',
  data: 'sk_live_of_the_provider',
  destinations: [{ ...destinations[0], surfaces: ['header:authorization'] }],
  egress_only: true,
})

const body = { amount: 100, card: `{{ ${card.id} | json: '$.number' }}` }
const pay = (url, path = '/proxy/v1/charges') =>
  call('POST', path, key, body, {
    'SVC-PROXY-URL': url,
    'SVC-PROXY-EVALUATE': 'body, header:authorization',
    Authorization: `Bearer {{ ${credential.id} }}`,
  })

const report = {
  paid: await pay(provider),
  elsewhere: await pay(elsewhere),
  anotherPath: await pay(provider, '/proxy/debug'),
  read: await call('GET', `/tokens/${credential.id}`, key),
}
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
