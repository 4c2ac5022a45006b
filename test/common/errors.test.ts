import t from 'tap'
import { AppError, ERRORS, invalid } from '../../src/common/errors.ts'

t.test('every code of the table has a status from 400 up, a gRPC status and a title', async (t) => {
  for (const [code, { status, grpc, title }] of Object.entries(ERRORS)) {
    t.ok(status >= 400 && status < 600, code)
    t.ok(grpc >= 1 && grpc <= 16, code)
    t.ok(title.length > 0, code)
  }
})

t.test('a foreign error becomes a fixed sentence that quotes nothing of it', async (t) => {
  const problem = AppError.from(new Error('SQL near 4242424242424242')).toProblem()
  t.equal(problem.status, 500)
  t.notMatch(JSON.stringify(problem), '4242')
})

t.test('an AppError passes through from() as it is', async (t) => {
  const error = new AppError('conflict', 'taken')
  t.equal(AppError.from(error), error)
})

t.test('a validation failure lists its sentences by property path', async (t) => {
  t.strictSame(invalid({ 'data.number': ['must pass the Luhn check'] }).toProblem().errors, {
    'data.number': ['must pass the Luhn check'],
  })
})
