import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const writer = (await api.application('private', ['token:create'])).key
const make = async (body: object) =>
  (await api.call('POST', '/tokens', { key: writer, body })).body.id as string
const send = (method: string, path: string, body?: object, key = api.management) =>
  api.call(method, path, { key, ...(body ? { body } : {}) })
const accessTo = async (id: string, query = '?size=100', key = api.management) =>
  (await send('GET', `/tokens/${id}/access${query}`, undefined, key)).body
const rule = (priority: number, container: string, transform: string, permissions = ['token:read']) => ({
  description: `${transform} ${container}`,
  priority,
  container,
  transform,
  permissions,
})
const CARD = { type: 'card', data: { number: '4242424242424242' } }
const card = await make(CARD)
const plain = await make({ data: 'plain text' })

interface Entry {
  readonly application: { readonly id: string; readonly name: string; readonly type: string }
  readonly permission: string
  readonly disclosure: string
  readonly rule?: object | null
  readonly through?: { readonly type: string; readonly id: string; readonly name?: string }
}

/** Rights of an application, or of a caller that acts as it, to the token. */
const levels = (entries: readonly Entry[], application: string, through?: string) =>
  Object.fromEntries(
    entries
      .filter((entry) => entry.application.id === application && entry.through?.id === through)
      .map(({ permission, disclosure }) => [permission, disclosure]),
  )

t.test('"entries { application, permission, disclosure, rule }"', async (t) => {
  const revealing = { ...rule(3, '/PCI/', 'reveal'), destinations: [{ host: 'api.example.com' }] }
  const { id } = await api.application('private', ['token:use', 'token:delete'], [revealing], {
    name: 'Checkout',
  })
  const { id: reader } = await api.application('private', ['token:read'])
  const { id: other } = await api.application('private', [], [rule(1, '/bank/', 'reveal')])
  const { id: web } = await api.application('public', ['token:update'])
  const { data } = await accessTo(card)
  t.strictSame(
    // Null is absent over gRPC.
    data
      .filter((entry: Entry) => entry.application.id === id)
      .map((entry: Entry) => ({ ...entry, rule: entry.rule ?? null })),
    [
      {
        application: { id, name: 'Checkout', type: 'private' },
        permission: 'token:read',
        disclosure: 'reveal',
        rule: {
          description: 'reveal /PCI/',
          priority: 3,
          container: '/pci/',
          transform: 'reveal',
          destinations: [{ host: 'api.example.com', ports: [443] }],
        },
      },
      {
        application: { id, name: 'Checkout', type: 'private' },
        permission: 'token:use',
        disclosure: 'reveal',
        rule: null,
      },
      {
        application: { id, name: 'Checkout', type: 'private' },
        permission: 'token:delete',
        disclosure: 'redact',
        rule: null,
      },
    ],
  )
  t.strictSame(levels(data, reader), { 'token:read': 'mask' })
  t.strictSame(levels(data, web), { 'token:update': 'mask' })
  t.strictSame(levels(data, other), {})
  t.notOk(data.some((entry: Entry) => entry.application.type === 'management'))
  const plainly = (await accessTo(plain)).data
  t.strictSame(
    levels(plainly, reader),
    { 'token:read': 'redact' },
    '"A mask on a token without a mask is `redact`"',
  )
  const own = await make({ data: 'plain text', mask: 'masked' })
  t.strictSame(levels((await accessTo(own)).data, reader), { 'token:read': 'mask' })
  const unmasked = await make({ data: 'plain text', mask: 'masked' })
  const { key: updater } = await api.application('private', [], [rule(1, '/', 'reveal', ['token:update'])])
  await send('PATCH', `/tokens/${unmasked}`, { mask: null }, updater)
  t.strictSame(levels((await accessTo(unmasked)).data, reader), { 'token:read': 'redact' })
  t.notOk(JSON.stringify([data, plainly]).match(/X4242|42424242|plain text/), 'nothing of its data')
})

t.test('"offset list": each entry once', async (t) => {
  const { pagination, data } = await accessTo(card)
  t.equal(pagination.total_items, data.length)
  t.ok(data.length > 4)
  const paged: Entry[] = []
  for (let page = 1; page <= Math.ceil(data.length / 2) + 1; page++)
    paged.push(...(await accessTo(card, `?size=2&page=${page}`)).data)
  t.strictSame(paged, data)
})

t.test('"through … proxy … reactor": proxies and reactors that act as an application', async (t) => {
  const { id } = await api.application(
    'private',
    ['token:use'],
    [rule(1, '/', 'reveal', ['token:read', 'token:search'])],
  )
  const application = { id }
  const proxy = async (more: object) =>
    (
      await send('POST', '/proxies', {
        name: 'p',
        destination_url: 'https://api.example.com',
        application,
        ...more,
      })
    ).body.id as string
  const code = 'module.exports = async ({ args }) => args'
  const transforming = await proxy({ request_transform: { code } })
  const open = await proxy({ require_auth: false })
  const closed = await proxy({})
  const { body: reactor } = await send('POST', '/reactors', {
    name: 'r',
    code: 'module.exports = async () => ({ raw: {} })',
    configuration: {},
    application,
  })
  const { data } = await accessTo(card)
  const all = { 'token:read': 'reveal', 'token:search': 'reveal', 'token:use': 'reveal' }
  t.strictSame(levels(data, id), all)
  t.strictSame(levels(data, id, transforming), all, 'code calls as the application')
  t.strictSame(levels(data, id, open), { 'token:use': 'reveal' }, 'callers without a key use as it')
  t.strictSame(levels(data, id, closed), {}, 'its callers use their own keys')
  t.strictSame(levels(data, id, reactor.id), all)
  t.match(data.find((entry: Entry) => entry.through?.id === reactor.id).through, {
    type: 'reactor',
    name: 'r',
  })
  const bound = await make({ ...CARD, egress_only: true, destinations: [{ host: 'api.example.com' }] })
  const limited = (await accessTo(bound)).data
  const masked = { 'token:read': 'mask', 'token:search': 'mask' }
  t.strictSame(levels(limited, id), { ...masked, 'token:use': 'reveal' }, 'a value for proxies only')
  t.strictSame(levels(limited, id, open), { 'token:use': 'reveal' })
  t.strictSame(levels(limited, id, reactor.id), { 'token:search': 'redact' }, 'a reactor has no destination')
  await send('DELETE', `/proxies/${open}`)
  t.strictSame(levels((await accessTo(card)).data, id, open), {})
})

t.test('"A session\'s entry names the application that made it."', async (t) => {
  const web = await api.application('public', ['token:create'])
  const backend = await api.application('private', [], [rule(1, '/', 'reveal')])
  const start = async () => (await api.call('POST', '/sessions', { key: web.key })).body
  const authorize = async (grant: object) => {
    const { nonce, session_key: key } = await start()
    const { status, text } = await send('POST', '/sessions/authorize', { nonce, ...grant }, backend.key)
    t.equal(status, 200, text)
    return key as string
  }
  const condition = { attribute: 'id', operator: 'equals', value: card }
  const { container: _, ...conditional } = { ...rule(1, '/', 'mask'), conditions: [condition] }
  await authorize({ rules: [conditional] })
  await start()
  const through = (data: readonly Entry[]) =>
    data.filter((entry) => entry.application.id === web.id && entry.through)
  const found = through((await accessTo(card)).data)
  t.match(found, [
    {
      permission: 'token:read',
      disclosure: 'mask',
      rule: { conditions: [condition], transform: 'mask' },
      through: { type: 'session' },
    },
  ])
  t.equal(found.length, 1, 'one that is not authorized may do nothing')
  t.strictSame(through((await accessTo(plain)).data), [], 'its rule is for another token')
  await send('PUT', `/applications/${backend.id}`, { name: 'less', rules: [rule(1, '/', 'redact')] })
  t.strictSame(through((await accessTo(card)).data), [], 'it ended with what its application held')
})

t.test('expired applications, unknown tokens, other tenants and other callers', async (t) => {
  const { id } = await api.application('private', ['token:read'], [], {
    expires_at: new Date(api.clock.now() + 60_000).toISOString(),
  })
  t.strictSame(levels((await accessTo(card)).data, id), { 'token:read': 'mask' })
  api.clock.advance(61_000)
  t.strictSame(levels((await accessTo(card)).data, id), {})
  t.equal((await send('GET', '/tokens/unknown/access')).status, 404)
  const other = await api.otherTenant()
  t.equal((await send('GET', `/tokens/${card}/access`, undefined, other.key)).status, 404)
})

t.test('"draft rules, permissions of an application against the current ones"', async (t) => {
  const containers = (container: string) => ({ containers: [container] })
  for (let n = 0; n < 3; n++) await make({ ...CARD, ...containers('/diff/a/') })
  await make({ data: 'x', ...containers('/diff/a/') })
  await make({ data: 'x', mask: 'm', ...containers('/diff/a/b/') })
  await make({ ...CARD, egress_only: true, ...containers('/diff/c/') })
  const { id } = await api.application('private', [], [rule(1, '/diff/a/', 'mask')])
  const diff = async (draft: object) =>
    (await send('POST', '/access/diff', { application: { id }, ...draft })).body
  const line = (container: string, from: string, to: string, tokens: number, permission = 'token:read') => ({
    container,
    permission,
    from,
    to,
    tokens,
    exact: true,
  })
  t.strictSame(await diff({ rules: [rule(1, '/diff/a/', 'mask')] }), { data: [] }, '"left out"')
  t.strictSame((await diff({ rules: [rule(1, '/diff/', 'reveal')] })).data, [
    line('/diff/a/', 'mask', 'reveal', 3),
    line('/diff/a/', 'redact', 'reveal', 1),
    line('/diff/a/b/', 'mask', 'reveal', 1),
    line('/diff/c/', 'none', 'mask', 1),
  ])
  t.strictSame((await diff({ rules: [rule(1, '/diff/a/b/', 'mask')] })).data, [
    line('/diff/a/', 'mask', 'none', 3),
    line('/diff/a/', 'redact', 'none', 1),
  ])
  const removing = await diff({ permissions: ['token:delete'] })
  t.same(
    removing.data.filter((one: { container: string }) => one.container.startsWith('/diff/')),
    [
      line('/diff/a/', 'none', 'redact', 4, 'token:delete'),
      line('/diff/a/b/', 'none', 'redact', 1, 'token:delete'),
      line('/diff/c/', 'none', 'redact', 1, 'token:delete'),
    ],
    'rules that are left out stay',
  )
  t.equal((await send('POST', '/access/diff', { application: { id }, rules: [] })).status, 400)
  t.match(
    (await send('POST', '/access/diff', { application: { id }, permissions: ['log:read'] })).body.errors,
    {
      permissions: [String],
    },
  )
  t.equal((await send('POST', '/access/diff', { application: { id: 'unknown' }, rules: [] })).status, 404)
  const other = await api.otherTenant()
  t.equal(
    (await send('POST', '/access/diff', { application: { id }, rules: [rule(1, '/', 'mask')] }, other.key))
      .status,
    404,
  )
  t.same(
    (await send('GET', `/applications/${id}`)).body.rules,
    [rule(1, '/diff/a/', 'mask')],
    'nothing changed',
  )
})
