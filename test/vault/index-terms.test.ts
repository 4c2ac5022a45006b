import t from 'tap'
import { openTestVault } from './kit.ts'

const locker = (pin: string) => ({ type: 'locker', data: { name: 'Ada', pin } })

t.test('a custom index does not make write-only members searchable', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  const token = await create({ ...locker('987654'), search_indexes: ['{{ data.pin }}', '{{ data.name }}'] })
  const later = await create(locker('987654'))
  await vault.update(later.id, { search_indexes: ['pin {{ data.pin }}', '{{ data.name }}'] }, as())
  const idsOf = async (query: string) => {
    const { data } = await vault.list({ query }, { kind: 'offset', page: 1, size: 20 }, as(), 'token:search')
    return data.map(({ id }) => id).sort()
  }
  t.same(await idsOf('data:987654'), [])
  t.same(await idsOf('data:"pin 987654"'), [])
  t.same(await idsOf('data:Ada'), [token.id, later.id].sort(), 'other members are')
})

t.test('a custom fingerprint does not compare write-only members', async (t) => {
  const { create } = await openTestVault(t)
  const fingerprint_expression = '{{ data.name }}-{{ data.pin }}'
  const first = await create({ ...locker('1234'), fingerprint_expression })
  const other = await create({ ...locker('9999'), fingerprint_expression })
  t.ok(first.fingerprint)
  t.equal(first.fingerprint, other.fingerprint)
})

t.test('an alias uses neither write-only nor ephemeral members', async (t) => {
  const { create } = await openTestVault(t)
  const pin = await create({ ...locker('1234'), id: 'locker-{{ data.pin }}' })
  t.equal(pin.id, 'locker-')
  const data = { number: '4242424242424242', cvc: '987' }
  const cvc = await create({ type: 'card', data, id: 'card-{{ data.cvc }}' })
  t.equal(cvc.id, 'card-')
  const own = await create({ ...locker('1234'), id: 'locker-{{ data.name }}' })
  t.equal(own.id, 'locker-Ada', 'other members may be in it')
})
