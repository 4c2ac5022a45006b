import { createHmac } from 'node:crypto'
import t from 'tap'
import { FixtureError, fixtureOf } from '../../src/commands/transform/fixtures.ts'
import { headerRules } from '../../src/gateway/headers.ts'
import { command } from './in-process.ts'

// Each run starts a sandbox.

const folder = t.testdir({
  'sign.js': `const { createHmac } = require('crypto')
module.exports = async ({ args: { body, headers }, configuration }) => {
  console.log('order', body.amount)
  console.warn('two\\nlines')
  const signature = createHmac('sha256', configuration.secret).update(JSON.stringify(body)).digest('hex')
  const { 'x-old': old, ...rest } = headers
  return { body: { ...body, old }, headers: { ...rest, 'X-Signature': signature, 'x-order': '8' } }
}`,
  'echo.js':
    'module.exports = ({ args, configuration }) => ({ body: { args, configuration }, headers: { "content-type": "application/json" } })',
  'throw.js': 'module.exports = () => {\n  const inner = () => { throw new TypeError("boom") }\n  inner()\n}',
  'reply.js': `const { BadRequestError } = require('sidevault')\nmodule.exports = () => {\n  throw new BadRequestError('too much')\n}`,
  'syntax.js': 'module.exports = (req) => {\n  const x = = 1\n}',
  'nothing.js': 'const x = 1',
  'number.js': 'module.exports = () => 7',
  'loop.js': 'module.exports = () => { for (;;); }',
  'bt.js': 'module.exports = async ({ bt }) => {\n  await bt.tokens.retrieve("a token")\n}',
  'fetch.js': "module.exports = async () => {\n  await fetch('https://127.0.0.1/')\n}",
  'body.json': '{"amount":100}',
})

const run = (file: string, ...args: string[]) => command(folder, ['transform', 'run', file, ...args])

t.test('the result of the code goes to standard output, diagnostics to standard error', async (t) => {
  const headers = JSON.stringify({ 'X-Old': 'o', 'X-Order': '7', 'x.dotted': 'dropped' })
  const configuration = JSON.stringify({ secret: 's3' })
  const { code, out, err } = await run(
    'sign.js',
    ...['--body', '@body.json', '--headers', headers, '--configuration', configuration],
  )
  t.equal(code, 0, err)
  t.same(JSON.parse(out), {
    body: { amount: 100, old: 'o' },
    headers: {
      'content-type': 'application/json',
      'X-Signature': createHmac('sha256', 's3').update('{"amount":100}').digest('hex'),
      'x-order': '8',
    },
  })
  t.match(err, /^headers +added x-signature; removed x-old; changed x-order$/m)
  t.match(err, /^console\.log +order 100$/m)
  t.match(err, /^console\.warn +two\n {14}lines$/m)
  t.match(err, /^time +[\d.]+ ms, of which [\d.]+ ms on the CPU/m)
})

t.test('method, path, query and forms are as in the gateway; a response transform has none', async (t) => {
  const form = await run(
    'echo.js',
    ...['--type', 'form', '--body', 'a=1&b=2&b=3', '--method', 'PUT', '--path', '/x', '--query', 'y=z'],
  )
  t.match(JSON.parse(form.out).body, {
    args: { body: { a: '1', b: ['2', '3'] }, method: 'PUT', path: '/x', query: '?y=z' },
    configuration: {},
  })
  const response = await run('echo.js', '--response', '--body', '{"card":1}')
  t.same(JSON.parse(response.out).body.args, {
    body: { card: 1 },
    headers: { 'content-type': 'application/json' },
  })
})

t.test('errors are reported with their places in the file', async (t) => {
  const expected = {
    'throw.js': /^throw\.js: TypeError: boom\n {4}at throw\.js:2:31\n {4}at throw\.js:3:3\n/,
    'reply.js': /^reply\.js: BadRequest\w*: too much\n {4}at reply\.js:3:9\n {4}responds with 400/,
    'syntax.js': /^syntax\.js:2:13: Unexpected token/,
    'nothing.js': /^nothing\.js:.*function/,
    'number.js': /^number\.js: .*\{ body, headers \}/,
    'loop.js': /^loop\.js: stopped: /,
    'bt.js': /^bt\.js: .*bt\.tokens\.retrieve needs a vault/,
    'fetch.js': /^fetch\.js: .*(not|refus|allow)/i,
  }
  for (const [file, pattern] of Object.entries(expected)) {
    const { code, out, err } = await run(file)
    t.match(err, pattern)
    t.equal(code, 1, file)
    t.equal(out, '', file)
  }
})

t.test('input that cannot be run is reported in one sentence, without quoting a fixture', async (t) => {
  for (const args of [['missing.js'], ['echo.js', '--body', '4242424242424242,']]) {
    const { code, err } = await run(args[0] ?? '', ...args.slice(1))
    t.equal(code, 2, `${args}`)
    t.notMatch(err, /4242|\n {4}at /)
  }
  const options = { method: 'POST', path: '', query: '', type: 'json' } as const
  const wrong = [
    { body: '@missing.json' },
    { headers: '[4242424242424242]' },
    { headers: '{"content-type":"text/plain"}' },
    { configuration: '4242424242424242' },
    { type: 'form', body: '{"card":{"number":"4242424242424242"}}' },
  ] as const
  for (const invalid of wrong) {
    const error = await fixtureOf({ ...options, ...invalid }, headerRules(['SVC'])).catch((thrown) => thrown)
    t.ok(error instanceof FixtureError, JSON.stringify(invalid))
    t.notMatch(String(error), /4242/)
  }
})
