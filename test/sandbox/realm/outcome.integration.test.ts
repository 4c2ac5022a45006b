import t from 'tap'
import { type Ran, runRealm } from './kit.ts'

const framesOf = (outcome: Ran['outcome']) => (outcome?.kind === 'threw' ? outcome.frames : undefined)

t.test('a result is returned as JSON', async (t) => {
  const returned = async (body: string) => (await runRealm(`module.exports = ${body}`)).outcome?.kind
  t.same(
    (
      await runRealm('module.exports = (req) => ({ a: 1, none: undefined, date: new Date(0), req })', {
        argument: [1],
      })
    ).result,
    {
      a: 1,
      date: '1970-01-01T00:00:00.000Z',
      req: [1],
    },
  )
  t.equal((await runRealm('module.exports = () => {}')).result, undefined)
  t.equal(await returned('() => undefined'), 'returned')
  t.equal(await returned('async () => () => {}'), 'returned')
  t.equal(await returned('() => ({ then: (resolve) => resolve(1) })'), 'returned')
})

t.test('functions are found for every form of export', async (t) => {
  for (const code of [
    'module.exports = () => 1',
    'exports.default = async () => 1',
    'module.exports = { default: () => 1 }',
    'module.exports = class { static x = 1 }; module.exports = function () { return 1 }',
  ])
    t.equal((await runRealm(code)).result, 1, code)
  for (const code of ['', 'exports.handler = () => 1', 'module.exports = 5', 'module.exports = null'])
    t.equal((await runRealm(code)).verdict.kind, 'no-function', code)
})

t.test('an error at top level has its place', async (t) => {
  const { verdict } = await runRealm(`const a = 1\n\n  null.x\nmodule.exports = () => 1`)
  t.match(verdict, { kind: 'threw', message: /Cannot read properties of null/, line: 3, column: 8 })
})

t.test('a thrown error is reported with its name, message and own frames', async (t) => {
  const { outcome } = await runRealm(`const fail = () => { throw new TypeError('no ' + 'way') }
    module.exports = async (req) => {
      await null
      fail()
    }`)
  t.match(outcome, { kind: 'threw', name: 'TypeError', message: 'no way' })
  t.same(framesOf(outcome), ['request_transform:1:28', 'request_transform:4:7'])
  const inside = await runRealm(`module.exports = () => Buffer.from(undefined)`)
  t.same(framesOf(inside.outcome), ['request_transform:1:31'], 'none of ours')
})

t.test('any thrown value has an outcome', async (t) => {
  const thrown = async (expression: string) => {
    const { outcome } = await runRealm(`module.exports = async () => { throw ${expression} }`)
    return outcome?.kind === 'threw' ? [outcome.name, outcome.message] : outcome
  }
  t.same(await thrown(`'text'`), ['Error', 'text'])
  t.same(await thrown('undefined'), ['Error', 'undefined'])
  t.same(await thrown('null'), ['Error', 'null'])
  t.same(await thrown('{ code: 5 }'), ['Error', '{"code":5}'])
  t.same(await thrown(`{ name: 'Own', message: 'words' }`), ['Own', 'words'])
  t.same(await thrown('Symbol("s")'), ['Error', 'Symbol(s)'])
  t.same(await thrown(`Object.assign(new Error(''), { name: 5 })`), ['Error', ''])
  t.same(await thrown(`new Error('x'.repeat(1e6))`), ['Error', 'x'.repeat(2000)])
  t.same(await thrown(`Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })`), [
    'Error',
    '',
  ])
  t.same(
    await thrown(`new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 } })`),
    ['Error', ''],
  )
  t.same(await thrown(`{ toJSON() { throw 1 } }`), ['Error', ''])
  t.equal((await thrown('(() => { const o = {}; o.o = o; return o })()'))?.[0 as never], 'Error')
})

t.test('a result that is not JSON is an error of the code', async (t) => {
  for (const code of [
    '() => 1n',
    '() => { const o = {}; o.o = o; return o }',
    '() => ({ get a() { throw new Error("no") } })',
  ])
    t.equal((await runRealm(`module.exports = ${code}`)).outcome?.kind, 'threw', code)
})

t.test('a result above its limit is an error', async (t) => {
  const { outcome, result } = await runRealm(`module.exports = () => 'x'.repeat(100)`, {
    settings: { resultChars: 100 },
  })
  t.match(outcome, { kind: 'limit', limit: 'result', message: /102 characters/ })
  t.equal(result, undefined)
})

t.test('typed errors set the status', async (t) => {
  const statuses = {
    BadRequestError: 400,
    AuthenticationError: 401,
    InvalidPaymentMethodError: 402,
    AuthorizationError: 403,
    RateLimitError: 429,
    ReactorRuntimeError: 500,
  }
  for (const name of ['sidevault', '@basis-theory/basis-theory-reactor-formulas-sdk-js'])
    for (const [Class, status] of Object.entries(statuses))
      t.match(
        (
          await runRealm(
            `const { ${Class} } = require('${name}'); module.exports = () => { throw new ${Class}('words') }`,
          )
        ).outcome,
        { kind: 'threw', name: Class, message: 'words', status },
        `${Class} of ${name}`,
      )
  const alias = await runRealm(
    `const { InvalidPaymentError } = require('sidevault'); module.exports = () => { throw new InvalidPaymentError('words') }`,
  )
  t.match(alias.outcome, { name: 'InvalidPaymentMethodError', message: 'words', status: 402 })
  const own = await runRealm(`const { CustomHttpResponseError } = require('sidevault')
    module.exports = () => { throw new CustomHttpResponseError({ status: 418, headers: { 'x-a': 'b' }, body: { c: [1] } }) }`)
  t.match(own.outcome, {
    kind: 'threw',
    name: 'CustomHttpResponseError',
    status: 418,
    headers: { 'x-a': 'b' },
    body: { c: [1] },
  })
  const sub = await runRealm(`const { RateLimitError } = require('sidevault')
    module.exports = () => { throw new (class Slow extends RateLimitError {})({ message: 'later' }) }`)
  t.match(sub.outcome, { status: 429, message: 'later' })
  const plain = await runRealm(
    `module.exports = () => { throw Object.assign(new Error('x'), { status: 401 }) }`,
  )
  t.notOk('status' in (plain.outcome ?? {}), 'other errors decide nothing')
  const wrong = await runRealm(`const { CustomHttpResponseError } = require('sidevault')
    module.exports = () => { throw new CustomHttpResponseError({ status: '200' }) }`)
  t.match(wrong.outcome, { kind: 'threw', message: 'status is not a valid integer' })
})

t.test('an error in a timer or microtask ends the invocation', async (t) => {
  for (const start of ['setTimeout', 'setImmediate', 'queueMicrotask', 'process.nextTick'])
    t.match(
      (
        await runRealm(
          `module.exports = () => new Promise(() => ${start}(() => { throw new RangeError('late') }))`,
        )
      ).outcome,
      { kind: 'threw', name: 'RangeError', message: 'late' },
      start,
    )
})

t.test('only the first outcome counts', async (t) => {
  const { outcome, result } = await runRealm(
    `module.exports = () => { queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => { throw new Error('after') })))); return 'first' }`,
  )
  t.equal(outcome?.kind, 'returned')
  t.equal(result, 'first')
})
