import t from 'tap'
import { printableId } from '../../src/vault/safe-id.ts'

t.test('errors repeat ids, and no text that may be a number of a card', (t) => {
  for (const id of ['order-12345678', '12345678-1234-1234-1234-123456789012', 'café_1'])
    t.equal(printableId(id), `The token "${id}"`)
  for (const id of [
    '5555555555554444',
    '5555 5555-5555 4444',
    '5555.5555.5555.4444',
    '5555_5555_5555_4444',
    '5555\u00a05555\u00a05555\u00a04444',
    '5555 – 5555 – 5555 – 4444',
    '５５５５５５５５５５５５４４４４',
    '٤١١١١١١١١١١١١١١١',
    'key_abc',
    'a'.repeat(101),
  ])
    t.equal(printableId(id), 'The requested token', id)
  t.end()
})
