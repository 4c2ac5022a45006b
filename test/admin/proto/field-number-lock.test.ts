import t from 'tap'
import { checkFrozen, freeze } from '../../../src/admin/proto/field-number-lock.ts'

const frozen = {
  Thing: { id: { number: 1, type: 'string' }, old: { number: 2, type: 'bool' } },
  Gone: { id: { number: 1, type: 'string' } },
}

t.test('breaking changes are found', async (t) => {
  const issues = (fields: Record<string, { number: number; type: string }>) =>
    checkFrozen(frozen, { Thing: fields })
  const id = { number: 1, type: 'string' }
  t.same(issues({ id, old: { number: 3, type: 'bool' } }), ['Thing.old has the number 3, and had 2.'])
  t.same(issues({ id: { number: 1, type: 'int64' } }), ['Thing.id is int64, and was string.'])
  t.same(issues({ id, fresh: { number: 2, type: 'bool' } }), [
    'Thing.fresh uses the number 2, which is that of "old".',
  ])
  t.same(issues({ id: { number: 2, type: 'string' } }), [
    'Thing.id has the number 2, and had 1.',
    'Thing.id uses the number 2, which is that of "old".',
  ])
})

t.test('added and removed fields are not breaking', async (t) => {
  const current = { Thing: { id: { number: 1, type: 'string' }, fresh: { number: 3, type: 'bool' } } }
  t.same(checkFrozen(frozen, current), [])
  const after = freeze(frozen, current)
  t.same(Object.keys(after), ['Gone', 'Thing'])
  t.same(Object.keys(after.Thing!), ['id', 'old', 'fresh'], 'what is gone stays frozen')
  t.not(checkFrozen(after, { Thing: { again: { number: 2, type: 'bool' } } }).length, 0)
  t.not(checkFrozen(after, { Gone: { other: { number: 1, type: 'string' } } }).length, 0)
})
