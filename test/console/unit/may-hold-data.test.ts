import t from 'tap'
import { addressFilters, mayHoldData } from '../../../src/console/kit/may-hold-data.ts'

t.test('texts that may hold data are recognized', async (t) => {
  for (const text of [
    'data:1',
    ' data:1',
    'type:a data:1',
    '(data:1)',
    'NOT(data:1)',
    '!data:1',
    '-data:1',
    'a:b OR\tdata:"1"',
    'DATA:1',
    'data.number:1',
    '+data : 1',
    '4111111111111111',
    'id:4111-1111-1111-1111*',
    'metadata.pan:"4111 1111 1111 1111"',
    '123-45-6789',
    '5555.5555.5555.4444',
    'id:5555_5555_5555_4444',
    '5555\u00a05555\u00a05555\u00a04444',
    '５５５５５５５５５５５５４４４４',
    '٤١١١١١١١١١١١١١١١',
    '41111111111111114111111111111111',
    'a4111111111111111',
  ])
    t.ok(mayHoldData(text), text)
  for (const text of [
    '',
    'metadata.data:1',
    'type:data',
    'id:a-b',
    'metadata.order:12345678',
    'created_at:[2030-01-01 TO "2030-02-01T12:00:00.000Z"]',
    '0123456789abcdef0123456789abcdef',
    'created_by:12345678-1234-1234-1234-123456789012 OR id:00000000-1234-1234-1234-123456789012',
  ])
    t.notOk(mayHoldData(text), text)
})

t.test('the address shows no filter that may hold data, whatever its name', async (t) => {
  const filters = new URLSearchParams({
    q: 'data:1',
    metadata: 'order=7',
    entity_id: '4111 1111 1111 1111',
    text: '/tokens/4111111111111111',
    name: '123-45-6789',
    start_date: '2030-01-01T12:00:00.000Z',
    application: '12345678-1234-1234-1234-123456789012',
    rows: '500',
  })
  t.strictSame([...addressFilters(filters).keys()], ['metadata', 'start_date', 'application', 'rows'])
  t.equal(filters.size, 8, 'the filters themselves stay')
})
