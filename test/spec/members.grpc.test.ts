import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const key = api.management
const send = (method: string, path: string, body?: object, as = key) =>
  api.call(method, `/tenants/self/${path}`, { key: as, ...(body ? { body } : {}) })
const invite = async (email = 'ann@example.com') => (await send('POST', 'invitations', { email })).body
const { body: tenant } = await api.call('GET', '/tenants/self', { key })

t.test(
  '"Invitation { id, tenant_id, email, status: PENDING | EXPIRED, expires_at (+72 h), created_by, created_at }"',
  async (t) => {
    const { status, body } = await send('POST', 'invitations', { email: 'new@example.com' })
    t.equal(status, 201)
    t.match(body, {
      tenant_id: tenant.id,
      email: 'new@example.com',
      role: 'ADMIN',
      status: 'PENDING',
      created_by: /^[0-9a-f-]{36}$/,
      created_at: api.time(),
    })
    t.equal(Date.parse(body.expires_at), api.clock.now() + 72 * 3_600_000)
    api.clock.advance(72 * 3_600_000)
    t.equal((await send('GET', `invitations/${body.id}`)).body.status, 'EXPIRED')
    const again = await send('POST', `invitations/${body.id}/resend`)
    t.equal(again.status, 200)
    t.match(again.body, { id: body.id, status: 'PENDING', modified_at: api.time() })
    t.equal(Date.parse(again.body.expires_at), api.clock.now() + 72 * 3_600_000)
  },
)

t.test('"the owner cannot be deleted: 422"', async (t) => {
  const { body } = await send('GET', 'members')
  t.match(body.data, [
    { id: tenant.owner_id, tenant_id: tenant.id, role: 'OWNER', user: { id: tenant.owner_id } },
  ])
  t.equal((await send('DELETE', `members/${tenant.owner_id}`)).status, 422)
  t.equal((await send('PUT', `members/${tenant.owner_id}`, { role: 'READ' })).status, 422)
  t.equal((await send('GET', `members/${tenant.owner_id}`)).status, 200)
  for (const [method, body] of [['GET'], ['DELETE'], ['PUT', { role: 'READ' }]] as const)
    t.equal((await send(method, 'members/unknown', body)).status, 404)
})

t.test('a user who accepts an invitation is a member, once', async (t) => {
  const { id } = await invite('joins@example.com')
  const { members } = api.service.kernel.registry.ports
  const joins = await Promise.allSettled(
    [1, 2, 3].map(() => members!.acceptInvitation(tenant.id, id, 'user-1')),
  )
  const joined = joins.filter(({ status }) => status === 'fulfilled')
  t.equal(joined.length, 1)
  t.equal((await send('GET', `invitations/${id}`)).status, 404)
  const { body } = await send('GET', 'members')
  t.match(body.data, [
    { role: 'ADMIN', user: { id: 'user-1', email: 'joins@example.com' } },
    { role: 'OWNER' },
  ])
  t.equal(body.pagination.total_items, 2)
  const [first, second] = [await send('GET', 'members?size=1'), await send('GET', 'members?size=1&page=2')]
  t.strictSame([...first.body.data, ...second.body.data], body.data)
  t.strictSame((await send('GET', 'members?size=1&page=3')).body.data, [])
  const member = body.data[0].id
  t.equal((await send('PUT', `members/${member}`, { role: 'OWNER' })).status, 400)
  t.match((await send('PUT', `members/${member}`, { role: 'READ' })).body, { id: member, role: 'READ' })
  t.equal((await send('DELETE', `members/${member}`)).status, 204)
  t.equal((await send('GET', 'members')).body.pagination.total_items, 1)
  const late = await invite()
  api.clock.advance(72 * 3_600_000)
  await t.rejects(members!.acceptInvitation(tenant.id, late.id, 'user-2'), { code: 'unprocessable' })
})
