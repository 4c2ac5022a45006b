import t from 'tap'
import { redactResponse, withoutLiterals } from '../../../src/kernel/invoke/redact-response.ts'

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

t.test('a tokenized result of code loses literals, and nothing of its tokens', async (t) => {
  const card = { id: 'a', type: 'card', data: { number: 4 }, egress_only: true }
  const result = { n: 4, deep: [{ yes: true, no: null, id: 'b', type: 'no type' }, 'id'], card }
  t.strictSame(withoutLiterals(result, types), {
    n: null,
    deep: [{ yes: null, no: null, id: 'b', type: 'no type' }, 'id'],
    card,
  })
  t.equal(withoutLiterals(4, types), null)
  for (const whole of [undefined, null, 'id', card, {}, [], { a: ['id', card, null] }])
    t.equal(withoutLiterals(whole, types), whole)
})
