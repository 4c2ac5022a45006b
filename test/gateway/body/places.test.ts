import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import { plan, resolve } from './kit.ts'

const PLACES: readonly (readonly [type: string, body: string, place: string])[] = [
  ['application/json', '{"a":[1,{"b/c":{"d~":"x"}},{"x":"{{", "y":1}]}', '/a/2/x'],
  ['application/json', '{"a\\u002fb":{"c":"\\"{","~":["{{}}"]}}', '/a~1b/~/0'.replace('~/', '~0/')],
  ['application/json', '["a","b",{"c":[]},"{{ pan | nope }}"]', '/3'],
  ['application/json', '"{{"', '/'],
  ['application/x-www-form-urlencoded', 'a=1&b=2&card%5Bnumber%5D={{&c=3', 'card[number]'],
  ['application/x-ndjson', '{"a":1}\n{"a":"{{"}\n{"a":2}', 'line 2'],
  ['text/csv', 'a,b\n1,2\n3,{{ pan | nope }}\n', 'line 3'],
  ['text/plain', 'a\nb\nc {{ pan | nope }}', 'line 3'],
  ['application/xml', '<a>\n<b>{{ pan | nope }}</b></a>', 'line 2'],
]

for (const [type, body, place] of PLACES)
  t.test(`${type}: an error of an expression reports its place, ${place}`, async (t) => {
    const error = await plan(body, type).then(() => undefined, AppError.from)
    t.equal(error?.code, 'invalid_expression')
    if (/^line/.test(place) && error?.errors === undefined) t.match(error?.message, /ine/)
    else t.strictSame(Object.keys(error?.errors ?? {}), [place])
  })

t.test('an error of a value reports its place', async (t) => {
  const result = await plan(
    '{"a":"{{ ten }}","b":"x{{ pan | json: \'$.x\' | upcase | json: \'$.[\' }}"}',
    'application/json',
  ).catch(AppError.from)
  if (result instanceof AppError) return t.strictSame(Object.keys(result.errors ?? {}), ['/b'])
  if (result.kind !== 'rewrite') return t.fail('passed')
  t.match(await (async () => result.apply(resolve))().catch(AppError.from), { errors: { '/b': [String] } })
})

t.test('tokens that are not found are reported by their places only', async (t) => {
  const result = await plan(
    '{"a":"{{ ten }}","b":["{{ gone }}",{"c":"x {{ ten }} {{ gone }}"}],"d":"{{ lost }}"}',
    'application/json',
  )
  if (result.kind !== 'rewrite') return t.fail('passed')
  const thrown = new AppError('invalid_expression', 'A token does not exist.', { tokens: ['gone', 'lost'] })
  const located = AppError.from(await result.located(thrown))
  t.strictSame(located.errors, {
    '/b/0': ['token not found'],
    '/b/1/c': ['token not found'],
    '/d': ['token not found'],
  })
  t.notMatch(JSON.stringify(located.toProblem()), /gone|lost/)
  const denied = new AppError('forbidden', 'A token is not allowed.', { tokens: ['lost'] })
  t.strictSame(AppError.from(await result.located(denied)).errors, { '/d': ['token not allowed'] })
  const other = new Error('other')
  t.equal(await result.located(other), other)
})
