import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const { key } = await api.application('private', ['token:create', 'token:read', 'token:update'])

t.test('"One shape, application/json; charset=utf-8 …, on every status from 400 up"', async (t) => {
  const failing = [
    [400, 'invalid', 'POST', '/tokens', { key, body: { type: 'card', data: { number: '1' } } }],
    [400, 'malformed', 'POST', '/tokens', { key, raw: '{"data":' }],
    [401, 'unauthenticated', 'GET', '/tokens/none', {}],
    [403, 'forbidden', 'DELETE', '/tokens/none', { key }],
    [404, 'token_not_found', 'GET', '/tokens/none', { key }],
    [404, 'not_found', 'GET', '/no/such/path', { key }],
    [405, 'method_not_allowed', 'PUT', '/tokens', { key, body: {} }],
    [
      415,
      'unsupported_media_type',
      'POST',
      '/tokens',
      { key, raw: 'data=x', headers: { 'content-type': 'text/plain' } },
    ],
  ] as const
  for (const [status, code, method, path, options] of failing) {
    const response = await api.call(method, path, options)
    t.equal(response.status, status, `${method} ${path}`)
    t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    t.match(response.body, { type: `/docs/errors#${code}`, code, title: /./, status, detail: /./ })
  }
})

t.test('"validation (errors filled)": every issue at once, by property path', async (t) => {
  const body = { type: 'card', data: { number: '4242424242424241', expiration_month: 13 } }
  const response = await api.call('POST', '/tokens', { key, body })
  t.equal(response.status, 400)
  t.match(Object.keys(response.body.errors), ['data.expiration_month'])
  const rules = [{ description: '', priority: 0, container: 'pci', transform: 'show', permissions: [] }]
  const application = await api.call('POST', '/applications', {
    key: api.management,
    body: { name: '', type: 'private', rules },
  })
  t.equal(application.status, 400)
  t.strictSame(Object.keys(application.body.errors).sort(), [
    'name',
    'rules[0].container',
    'rules[0].description',
    'rules[0].permissions',
    'rules[0].priority',
    'rules[0].transform',
  ])
})

t.test('"Texts … never hold a token\'s data, a key, or a body."', async (t) => {
  const marked = '4242424242424241'
  for (const body of [
    { type: 'card', data: { number: marked } },
    { type: 'social_security_number', data: marked },
    { type: marked, data: 'x' },
    { data: 'x', containers: [marked] },
    { data: 'x', mask: `{{ ${marked} | nope }}` },
  ]) {
    const response = await api.call('POST', '/tokens', { key, body })
    t.equal(response.status, 400, JSON.stringify(body))
    t.notOk(response.text.includes(marked), response.text)
  }
  t.notOk((await api.call('GET', '/tokens', { key: marked })).text.includes(marked))
})

t.test('a member name invented by a caller is not quoted when it may be a value', async (t) => {
  const body = { data: 'x', metadata: { 4242424242424241: 1 } }
  const response = await api.call('POST', '/tokens', { key, body })
  t.equal(response.status, 400)
  t.notMatch(response.text, '4242424242424241')
})

t.test('input in the place of an id or permission is quoted only when it is one', async (t) => {
  const { key } = await api.application('private', [
    'token:read',
    'token:use',
    'token:update',
    'token:delete',
  ])
  const paths = [
    ...['applications', 'proxies', 'reactors', 'reactor-formulas', 'tenants/self/invitations'].flatMap(
      (collection) => [
        ['GET', `/${collection}/`, api.management],
        ['DELETE', `/${collection}/`, api.management],
      ],
    ),
    ['DELETE', '/tenants/self/members/', api.management],
    ['GET', '/tokens/', key],
    ['DELETE', '/tokens/', key],
  ] as const
  const anonymous = '00000000-0000-4000-8000-000000000000'
  for (const marked of ['4242424242424241', '4242 4242 4242 4241', key]) {
    for (const [method, path, as] of paths) {
      const { status, text } = await api.call(method, path + encodeURIComponent(marked), { key: as })
      t.equal(status, 404, `${method} ${path}`)
      t.notOk(text.includes(marked), text)
      t.match((await api.call(method, path + anonymous, { key: as })).text, anonymous)
    }
    const result = `/reactors/${anonymous}/results/${encodeURIComponent(marked)}`
    t.notOk((await api.call('GET', result, { key })).text.includes(marked))
    const grants = { permissions: [marked], name: 'x', type: 'private' }
    for (const [path, as] of [
      ['/applications', api.management],
      ['/sessions/authorize', key],
    ] as const) {
      const { status, text } = await api.call('POST', path, { key: as, body: { ...grants, nonce: 'x' } })
      t.equal(status, 400)
      t.notOk(text.includes(marked), text)
    }
  }
  const misspelt = { permissions: ['token:raed'], name: 'x', type: 'private' }
  t.match(
    (await api.call('POST', '/applications', { key: api.management, body: misspelt })).text,
    'token:raed',
  )
})
