import t from 'tap'
import { identityNumber } from '../../plugins/pii/identity-number.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'

const type = identityNumber('some_number', 'Some number', '^[0-9]{2}-?[0-9]{4}$', '12-3456')
const render = (expression: string, data: string) =>
  createExpressions().parseStored(expression).render({ data })

t.test('a number is found by each spelling and its last four digits, however it was stored', async (t) => {
  const terms = (data: string) => new Set(type.searchIndexes?.map((expression) => render(expression, data)))
  t.same(terms('12-3456'), new Set(['12-3456', '123456', '3456']))
  t.same(terms('123456'), new Set(['123456', '3456']))
})

t.test('both spellings have one fingerprint', async (t) => {
  t.equal(render(type.fingerprint ?? '', '12-3456'), render(type.fingerprint ?? '', '123456'))
})
