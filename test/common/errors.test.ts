import t from 'tap'
import { AppError, concurrentChange, ERRORS, invalid } from '../../src/common/errors.ts'

t.test('every code of the table has a status from 400 up, a gRPC status and a title', async (t) => {
  for (const [code, { status, grpc, title }] of Object.entries(ERRORS)) {
    t.ok(status >= 400 && status < 600, code)
    t.ok(grpc >= 1 && grpc <= 16, code)
    t.ok(title.length > 0, code)
    t.match(code, /^[a-z]+(_[a-z]+)*$/)
  }
})

t.test('an unknown error becomes a fixed message that quotes nothing of it', async (t) => {
  const problem = AppError.from(new Error('SQL near 4242424242424242')).toProblem()
  t.equal(problem.status, 500)
  t.notMatch(JSON.stringify(problem), '4242')
})

t.test('a problem has its code, and a link to its documentation', async (t) => {
  t.strictSame(new AppError('token_not_found', 'The token "a" does not exist.').toProblem(), {
    type: '/docs/errors#token_not_found',
    code: 'token_not_found',
    title: 'Token not found',
    status: 404,
    detail: 'The token "a" does not exist.',
  })
  const { code, status } = new AppError('code_failed', 'No.', { response: { status: 402 } }).toProblem()
  t.strictSame({ code, status }, { code: 'code_failed', status: 402 }, 'code chooses the status only')
})

t.test(
  'a `conflict` is ABORTED over gRPC, FAILED_PRECONDITION or ALREADY_EXISTS, by what it is with',
  async (t) => {
    const error = concurrentChange('The token was changed concurrently. Retry.', { retryAfter: 1 })
    t.match(error, { code: 'conflict', status: 409, grpc: 10, retryAfter: 1 })
    t.match(new AppError('conflict', 'The id is in use.'), { code: 'conflict', status: 409, grpc: 6 })
    const state = new AppError('conflict', 'The formula has reactors.', { conflictWith: 'state' })
    t.match(state, { code: 'conflict', status: 409, grpc: 9 })
  },
)

t.test('an AppError passes through from() as it is', async (t) => {
  const error = new AppError('conflict', 'taken')
  t.equal(AppError.from(error), error)
})

t.test('a validation failure lists its messages by property path', async (t) => {
  t.strictSame(invalid({ 'data.number': ['must pass the Luhn check'] }).toProblem().errors, {
    'data.number': ['must pass the Luhn check'],
  })
})
