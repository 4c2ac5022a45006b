import t from 'tap'
import { withoutData } from '../../src/kernel/without-data.ts'

const types = new Map([['card', { ephemeral: [{ at: '/cvc', seconds: 60 }] }]])

t.test('tokens at any depth lose what lies sealed, and are named once', async (t) => {
  const times = { created_at: '2026-03-01T12:00:00.000+00:00', modified_at: '2026-03-01T12:00:01.005+00:00' }
  const card = { id: 'a', type: 'card', metadata: { color: 'red' }, containers: ['/pci/'], ...times }
  const sealed = { data: { number: '4' }, mask: '4', search_indexes: ['4'], fingerprint_expression: '4' }
  const output = {
    data: [{ ...card, ...sealed }, [{ ...card, data: null }], { ...card, id: 'b' }],
    next: 'x',
  }
  t.strictSame(withoutData(output, types), {
    output: { data: [card, [card], { ...card, id: 'b' }], next: 'x' },
    tokens: [
      { id: 'a', created_at: Date.UTC(2026, 2, 1, 12), modified_at: Date.UTC(2026, 2, 1, 12, 0, 1, 5) },
    ],
  })
})

t.test('a token that is shown with a short-lived member is named so', async (t) => {
  const shown = (data: unknown) => withoutData({ id: 'a', type: 'card', data }, types).tokens
  const token = { id: 'a', created_at: -1, modified_at: null }
  t.strictSame(shown({ number: '4', cvc: '123' }), [{ ...token, ephemeral: true }])
  t.strictSame(shown({ number: '4' }), [token])
  t.strictSame(shown('4'), [token])
})

t.test('everything else stays as it is', async (t) => {
  for (const output of [
    undefined,
    null,
    'text',
    7,
    { id: 'a', type: 'private', data: 1, key: 'key_1' },
    { id: 1, type: 'card', data: 1 },
    { type: 'card', mask: 'x' },
  ])
    t.strictSame(withoutData(output, types), { output, tokens: [] })
})
