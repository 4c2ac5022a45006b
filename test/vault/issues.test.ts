import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createIssues, memberPath, pointerPath } from '../../src/vault/issues.ts'

t.test('without issues nothing is thrown', async (t) => {
  t.doesNotThrow(() => createIssues().check())
})

t.test('messages are grouped by path, each once, up to a limit', async (t) => {
  const issues = createIssues()
  issues.add('a', 'is required')
  issues.add('a', 'is required')
  issues.add('a', 'must be short')
  for (let i = 0; i < 1000; i++) issues.add(`b${i}`, 'is required')
  try {
    issues.check()
    t.fail('it did not throw')
  } catch (error) {
    const { errors = {} } = error as AppError
    t.ok(error instanceof AppError)
    t.same(errors.a, ['is required', 'must be short'])
    t.equal(Object.keys(errors).length, 49)
  }
})

t.test('member names that may be data are not quoted', async (t) => {
  t.equal(memberPath('data', 'number'), 'data.number')
  t.equal(memberPath('', 'card'), 'card')
  for (const name of ['4242424242424242', 'a b', 'é', 'x'.repeat(61), ''])
    t.equal(memberPath('data', name), 'data.*')
  t.equal(pointerPath('data', '/owner/0/name'), 'data.owner.0.name')
})
