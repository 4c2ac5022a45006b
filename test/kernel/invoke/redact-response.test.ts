import t from 'tap'
import { redactResponse } from '../../../src/kernel/invoke/redact-response.ts'

const types = new Map([['card', {}]])

t.test('tokens at any depth lose their sealed members, and are listed once', async (t) => {
  const card = { id: 'a', type: 'card', metadata: { color: 'red' }, containers: ['/pci/'] }
  const sealed = { data: { number: '4' }, mask: '4', search_indexes: ['4'], fingerprint_expression: '4' }
  const output = {
    data: [{ ...card, ...sealed }, [{ ...card, data: null }], { ...card, id: 'b' }],
    next: 'x',
  }
  t.strictSame(redactResponse(output, types), {
    output: { data: [card, [card], { ...card, id: 'b' }], next: 'x' },
    tokens: ['a'],
  })
})

t.test('everything else stays unchanged', async (t) => {
  for (const output of [
    undefined,
    null,
    'text',
    7,
    { id: 'a', type: 'private', data: 1, key: 'key_1' },
    { id: 1, type: 'card', data: 1 },
    { type: 'card', mask: 'x' },
  ])
    t.strictSame(redactResponse(output, types), { output, tokens: [] })
})
