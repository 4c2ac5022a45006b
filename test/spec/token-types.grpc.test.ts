import t from 'tap'
import { examples } from '../contract/plugin-examples.ts'
import { startApi } from './api.ts'

const api = await startApi(t)
const { key } = await api.application('private', ['token:create', 'token:search'])
const reader = await api.revealing()

/** completions §5, "Types". */
const containers: Record<string, string> = {
  token: '/general/high/',
  card: '/pci/high/',
  bank: '/bank/high/',
  card_number: '/pci/high/',
  us_bank_account_number: '/bank/high/',
  us_bank_routing_number: '/bank/low/',
  social_security_number: '/pii/high/',
  employer_id_number: '/pii/high/',
}

for (const [type, { valid, invalid }] of Object.entries(examples)) {
  t.test(
    `${type}: accepted data are stored in ${containers[type]}, masked and revealed as the table says`,
    async (t) => {
      for (const { data, stored, masked } of valid) {
        const created = await api.call('POST', '/tokens', { key, body: { type, data } })
        t.equal(created.status, 201, created.text)
        t.strictSame(created.body.containers, [containers[type]])
        t.strictSame(created.body.data, masked)
        const [, classification, impact_level] = containers[type]!.split('/')
        const restriction_policy = masked === undefined ? 'redact' : 'mask'
        t.strictSame(created.body.privacy, { classification, impact_level, restriction_policy })
        const read = await api.call('GET', `/tokens/${created.body.id}`, { key: reader })
        t.strictSame(read.body.data, stored ?? data)
      }
    },
  )

  if (invalid.length > 0)
    t.test(`${type}: data outside of the table is 400 and names the member`, async (t) => {
      for (const { data, at } of invalid) {
        const { status, body } = await api.call('POST', '/tokens', { key, body: { type, data } })
        t.equal(status, 400, JSON.stringify(data))
        t.ok(body.errors?.[`data${at.replaceAll('/', '.')}`], JSON.stringify(body.errors))
      }
    })
}

t.test('"search indexes: data, data without dashes, last 4" of social security numbers', async (t) => {
  const data = '078-05-1120'
  const { body } = await api.call('POST', '/tokens', { key, body: { type: 'social_security_number', data } })
  for (const query of ['data:"078-05-1120"', 'data:078051120', 'data:1120']) {
    const page = await api.call('POST', '/tokens/search', { key, body: { query } })
    t.strictSame(
      page.body.data?.map(({ id }: { id: string }) => id),
      [body.id],
      query,
    )
  }
})

t.test('"A card\'s cvc is removed 1 h after creation"', async (t) => {
  const data = { number: '4242424242424242', cvc: 123 }
  const { body } = await api.call('POST', '/tokens', { key, body: { type: 'card', data } })
  const cvc = async () => (await api.call('GET', `/tokens/${body.id}`, { key: reader })).body.data.cvc
  t.equal(await cvc(), '123')
  api.clock.advance(3_600_000)
  t.equal(await cvc(), undefined)
})

t.test('"Unknown token type → 400" (completions §12)', async (t) => {
  const { status, body } = await api.call('POST', '/tokens', { key, body: { type: 'passport', data: 'x' } })
  t.equal(status, 400)
  t.ok(body.errors.type)
})

t.test('"Unset optional members are left out", of masked data too', async (t) => {
  const body = { type: 'card', data: { number: '4242424242424242' } }
  const created = await api.call('POST', '/tokens', { key, body })
  t.strictSame(created.body.data, { number: 'XXXXXXXXXXXX4242' })
})
