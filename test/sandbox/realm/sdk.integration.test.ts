import t from 'tap'
import { runRealm } from './kit.ts'

t.test('members of bt call the service with the given arguments', async (t) => {
  const calls: [string, unknown][] = []
  const { result } = await runRealm(
    `module.exports = async ({ bt }) => [
      await bt.tokens.create({ type: 'token', data: 1, searchIndexes: ['{{ data }}'], metadata: { camelCase: 'stays' } }),
      await bt.tokens.retrieve('a'), await bt.tokens.get('b'),
      await bt.tokens.update('a', { expiresAt: 'x' }), await bt.tokens.delete('a'),
      await bt.tokens.list(), await bt.tokens.list({ type: 'card' }),
      await bt.tokens.search('data:1'), await bt.tokens.search({ query: 'data:2' }),
      await bt.tokenize({ a: 1 }), await bt.detokenize('{{ a }}'), await bt.detokenize([1]),
      await bt.reactors.react('r', { args: { b: 2 } }),
    ]`,
    {
      sdk: true,
      call: async (name, input) => {
        calls.push([name, input])
        return calls.length
      },
    },
  )
  t.same(result, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  t.same(calls, [
    [
      'tokens.create',
      [{ type: 'token', data: 1, search_indexes: ['{{ data }}'], metadata: { camelCase: 'stays' } }],
    ],
    ['tokens.retrieve', ['a']],
    ['tokens.retrieve', ['b']],
    ['tokens.update', ['a', { expires_at: 'x' }]],
    ['tokens.delete', ['a']],
    ['tokens.list', [{}]],
    ['tokens.list', [{ type: 'card' }]],
    ['tokens.search', [{ query: 'data:1' }]],
    ['tokens.search', [{ query: 'data:2' }]],
    ['tokenize', [{ a: 1 }]],
    ['detokenize', ['{{ a }}']],
    ['detokenize', [[1]]],
    ['reactors.react', ['r', { args: { b: 2 } }]],
  ])
})

t.test('code without an application has no `bt`', async (t) => {
  t.same((await runRealm(`module.exports = (req) => 'bt' in req`)).result, false)
})

t.test('failures are errors of the documented classes', async (t) => {
  const failing = (failure: object) => ({ sdk: true, call: () => Promise.reject(failure) })
  const caught = `const { AuthorizationError, BadRequestError } = require('sidevault')
    module.exports = ({ bt }) => bt.tokens.retrieve('a').catch((error) => [
      error.name, error.message, error.status, error instanceof AuthorizationError, error instanceof BadRequestError, error instanceof Error,
    ])`
  t.same(
    (await runRealm(caught, failing({ name: 'AuthorizationError', message: 'no', status: 403 }))).result,
    ['AuthorizationError', 'no', 403, true, false, true],
  )
  t.same((await runRealm(caught, failing({ name: 'AppError', message: 'bad', status: 400 }))).result, [
    'BadRequestError',
    'bad',
    400,
    false,
    true,
    true,
  ])
  t.same((await runRealm(caught, failing({ name: 'AppError', message: 'none', status: 404 }))).result, [
    'ReactorError',
    'none',
    404,
    false,
    false,
    true,
  ])
  const uncaught = `module.exports = ({ bt }) => bt.tokens.retrieve('a')`
  t.match((await runRealm(uncaught, failing({ name: 'X', message: 'no', status: 403 }))).outcome, {
    kind: 'threw',
    status: 403,
  })
  const missing = await runRealm(uncaught, failing({ name: 'X', message: 'none', status: 404 }))
  t.match(missing.outcome, { kind: 'threw', message: 'none' })
  t.notOk('status' in (missing.outcome ?? {}), 'only the classes that code may throw decide the status')
})
