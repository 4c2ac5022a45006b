import t from 'tap'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const setUp = async (t: Parameters<typeof startTestService>[0]) => {
  const { call } = await startTestService(t, { openStore: openInThread })
  const create = (allowed_origins: unknown, grants: object = {}) =>
    call('POST', '/applications', {
      body: { name: 'Shop', type: 'public', permissions: ['token:create'], ...grants, allowed_origins },
    })
  return { call, create }
}

t.test('origins are stored as browsers send them, and other spellings are 400', async (t) => {
  const { create } = await setUp(t)
  const valid = [
    'https://shop.example',
    'https://shop.example:8443',
    'https://xn--bcher-kva.example',
    'https://192.0.2.1',
    'https://[2001:db8::1]:8443',
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:3000',
  ]
  t.match(await create([...valid, valid[0]]), { status: 201, json: { allowed_origins: valid } })
  const invalid = [
    'null',
    '',
    'shop.example',
    'https://shop.example/',
    'https://shop.example/pay',
    'https://shop.example:443',
    'https://shop.example:08443',
    'https://shop.example:70000',
    'https://Shop.example',
    'HTTPS://shop.example',
    'https://bücher.example',
    'https://*.shop.example',
    'https://user@shop.example',
    'https://shop.example?',
    'https://shop.example#',
    'https://shop.example ',
    'https://shop.example, https://other.example',
    'https://0300.0.2.1',
    'http://shop.example',
    'http://localhost.example',
    'http://127.0.0.2',
    'ftp://localhost',
    'chrome-extension://abcdefghijklmnop',
  ]
  for (const origin of invalid)
    t.match(
      await create(['https://shop.example', origin]),
      { status: 400, json: { errors: { 'allowed_origins[1]': [String] } } },
      JSON.stringify(origin),
    )
  const many = (count: number) => Array.from({ length: count }, (_, at) => `https://shop-${at}.example`)
  t.equal((await create(many(20))).status, 201)
  t.match(await create(many(21)), { status: 400, json: { errors: { allowed_origins: [String] } } })
})

t.test('* stands alone, and for token:create alone', async (t) => {
  const { create } = await setUp(t)
  const rule = { description: 'a', priority: 1, container: '/', transform: 'mask' }
  t.match(await create(['*']), { status: 201, json: { allowed_origins: ['*'] } })
  t.match(await create(['*', 'https://shop.example']), { status: 400 })
  for (const grants of [
    { permissions: ['token:create', 'token:update'] },
    { rules: [{ ...rule, permissions: ['token:create', 'token:update'] }] },
  ])
    t.match(await create(['*'], grants), {
      status: 400,
      json: { errors: { allowed_origins: [/token:create/] } },
    })
  t.equal((await create(['*'], { rules: [{ ...rule, permissions: ['token:create'] }] })).status, 201)
})

t.test('only public applications have origins', async (t) => {
  const { create } = await setUp(t)
  for (const [type, permission] of [
    ['private', 'token:create'],
    ['management', 'log:read'],
  ])
    t.match(await create(['https://shop.example'], { type, permissions: [permission] }), {
      status: 400,
      json: { errors: { allowed_origins: [/public/] } },
    })
})

t.test('a PUT replaces origins, and one that leaves them out removes them', async (t) => {
  const { call, create } = await setUp(t)
  const { json } = await create(['https://shop.example'])
  const put = (body: object) =>
    call('PUT', `/applications/${json.id}`, {
      body: { name: 'Shop', permissions: ['token:create'], ...body },
    })
  const changed = await put({ allowed_origins: ['*'] })
  t.same(changed.json.allowed_origins, ['*'])
  t.equal((await put({ allowed_origins: ['*'], permissions: ['token:update'] })).status, 400)
  t.same((await call('GET', `/applications/${json.id}`)).json.allowed_origins, ['*'])
  for (const body of [{}, { allowed_origins: null }, { allowed_origins: [] }])
    t.notOk('allowed_origins' in (await put(body)).json)
})
