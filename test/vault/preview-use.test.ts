import t from 'tap'
import type { UseContext } from '../../src/sdk/index.ts'
import { ALL, CARD, failure, MASKED_CARD, openTestVault, rule } from './kit.ts'

t.test('a preview names the deciding grant, and shows no more than the mask', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  const card = await create({ type: 'card', data: CARD, metadata: { a: '1' } })
  const plain = await create({ data: 'secret' })
  const ids = [card.id, plain.id, card.id]
  const token = { id: card.id, type: 'card', data: MASKED_CARD, container: '/pci/high/' }
  const [byPermission, withoutMask, ...more] = await vault.preview(ids, as(['token:use']))
  t.match(byPermission, { kind: 'used', id: card.id, disclosure: 'reveal', rule: undefined, token })
  t.match(withoutMask, { kind: 'used', token: { id: plain.id, data: null } })
  t.same(more, [], 'each once')
  for (const disclosure of ['reveal', 'mask', 'redact'] as const) {
    const decided = rule('/pci/', disclosure, ['token:use'])
    const [previewed] = await vault.preview([card.id], as([], [decided]))
    const data = disclosure === 'redact' ? null : MASKED_CARD
    t.match(previewed, { kind: 'used', id: card.id, disclosure, rule: decided, token: { ...token, data } })
    t.same(previewed?.kind === 'used' && previewed.token.toToken(), { ...card, data })
  }
})

t.test(
  'a preview of a use that is limited to destinations shows a mask to callers that see one',
  async (t) => {
    const { create, vault, as, records } = await openTestVault(t)
    const card = await create({ type: 'card', data: CARD })
    records.splice(0)
    const sending = {
      ...rule('/', 'reveal', ['token:use'], 2),
      destinations: [{ host: 'a.test', ports: [443] }],
    }
    const preview = async (context: UseContext) => (await vault.preview([card.id], context))[0]
    const redacted = as([], [rule('/', 'redact', ['token:read', 'token:search']), sending])
    for (const context of [as([], [sending]), redacted])
      t.match(await preview(context), { kind: 'used', disclosure: 'reveal', token: { data: null } })
    t.same(records, [])
    for (const permission of ['token:read', 'token:update'] as const)
      t.match(await preview(as([permission], [sending])), { token: { data: MASKED_CARD } })
    const { caller: reader } = as([])
    t.match(await preview({ ...redacted, reader }), { token: { data: MASKED_CARD } }, 'an administrator')
  },
)

t.test('a preview distinguishes unknown and denied tokens, and shows nothing of them', async (t) => {
  const { create, vault, as, records } = await openTestVault(t)
  const denied = await create({ data: 2, containers: ['/b/'] })
  records.splice(0)
  const previewed = await vault.preview([denied.id, 'unknown'], as([], [rule('/a/', 'reveal', ALL)]))
  t.same(previewed, [
    { kind: 'denied', id: denied.id },
    { kind: 'unknown', id: 'unknown' },
  ])
  t.same(records, [])
})

t.test('a preview records reads of masked values, and no use', async (t) => {
  const { create, vault, as, records } = await openTestVault(t)
  const card = await create({ type: 'card', data: CARD })
  const plain = await create({ data: 'secret' })
  records.splice(0)
  await vault.preview([card.id, plain.id], as(['token:use']))
  t.same(
    records.map(({ entity_id, operation, disclosure }) => [entity_id, operation, disclosure]),
    [[card.id, 'read', 'mask']],
  )
})

t.test('a preview of no ids needs no permission, and too many ids are rejected', async (t) => {
  const { vault, as } = await openTestVault(t, { limits: { tokens: 2 } })
  t.same(await vault.preview([], as([])), [])
  t.equal((await failure(vault.preview(['aaa', 'bbb', 'ccc'], as()))).code, 'invalid_expression')
})
