import t from 'tap'
import { runRealm, sameAsNode } from './kit.ts'

sameAsNode(t, 'util.inspect shows common values as Node does', () => {
  const { inspect } = require('node:util')
  class Point {
    x = 1
    get y() {
      return 2
    }
  }
  const circular: Record<string, unknown> = { a: 1, list: [] }
  circular.self = circular
  const values = [
    'text',
    "it's",
    `both ' and "`,
    -0,
    1n,
    undefined,
    null,
    true,
    Symbol('s'),
    [],
    {},
    [undefined, null, 'x', 1.5],
    { a: { b: { c: { d: 1 } } } },
    { a: 1, b: 'two', c: [1, 2, 3], d: { e: { f: {} } } },
    [[[[]]]],
    Object.assign(new Array(3), { 0: 1, 2: 3 }),
    { 'a-b': 1, 3: 4 },
    new Map([['a', { b: 1 }]]),
    new Set([1, 'a', [2]]),
    new Date(0),
    new Date(Number.NaN),
    /a+/gi,
    new Point(),
    Object.create(null),
    class A extends Point {},
    function named() {},
    () => {},
    async () => {},
    new Number(3),
    new String('ab'),
    Buffer.from('hi'),
    new Uint8Array(3),
    new ArrayBuffer(2).byteLength,
    {
      get a() {
        return 1
      },
      set a(_: number) {},
      get b() {
        return 1
      },
    },
    circular,
    { long: 'x'.repeat(90), other: 'y'.repeat(60) },
    { text: 'line one\nline two' },
    Object.assign(() => {}, { a: 1 }),
    { toString: 1 },
    { [inspect.custom]: () => 'own text' },
    Array.from({ length: 3 }, (_, i) => ({ id: i, name: `name ${i}`, tags: ['a', 'b'] })),
    Array.from({ length: 120 }, (_, i) => i),
    new WeakMap(),
    (function* () {})(),
    new (class Tagged {
      get [Symbol.toStringTag]() {
        return 'tag'
      }
    })(),
    new ArrayBuffer(3),
    new DataView(new ArrayBuffer(2)),
  ]
  return [
    ...values.map((value) => inspect(value)),
    inspect({ a: { b: { c: {} } } }, { depth: 0 }),
    inspect({ b: 1, a: 2 }, { sorted: true }),
    inspect('x'.repeat(20), { maxStringLength: 5 }),
    inspect([1, 2, 3], { maxArrayLength: 1 }),
  ]
})

sameAsNode(t, 'util.format', () => {
  const { format } = require('node:util')
  return [
    format('%s %d %i %f %j %%', 'a', 1.5, '42px', '1.5', { a: 1 }),
    format('%o', [1]),
    format('%O', { a: { b: 1 } }),
    format('%s', { a: 1 }, 'more', { b: 2 }),
    format('%s'),
    format('a', 'b', 3),
    format({ a: 1 }, 'b'),
    format('%s', null, undefined, Symbol('x')),
    format('%d', 'abc'),
    format('100%', 1),
  ]
})

sameAsNode(t, 'util: promises, types, inheritance, deep equality', async () => {
  const util = require('node:util')
  function Base(this: { made: boolean }) {
    this.made = true
  }
  Base.prototype.hello = () => 'hello'
  function Derived() {}
  util.inherits(Derived, Base)
  const failing = util.promisify((done: (error: Error) => void) => done(new Error('no')))
  const { types } = util
  const values = [
    new Date(),
    /x/,
    new Map(),
    new Set(),
    Promise.resolve(),
    new Uint8Array(),
    new ArrayBuffer(1),
    async () => {},
    new Error(),
    new Number(1),
    1,
    null,
    {},
  ]
  return [
    await util.promisify((a: number, done: (error: null, value: number) => void) => done(null, a + 1))(1),
    await failing().catch((error: Error) => error.message),
    await new Promise((resolve) =>
      util.callbackify(async (a: number) => a * 2)(4, (...all: unknown[]) => resolve(all)),
    ),
    new (Derived as unknown as new () => { hello(): string })().hello(),
    util.isDeepStrictEqual({ a: [1, new Map([[1, 2]])] }, { a: [1, new Map([[1, 2]])] }),
    util.isDeepStrictEqual({ a: 1 }, { a: '1' }),
    [
      'isDate',
      'isRegExp',
      'isMap',
      'isSet',
      'isPromise',
      'isUint8Array',
      'isTypedArray',
      'isArrayBuffer',
      'isAsyncFunction',
      'isNativeError',
      'isBoxedPrimitive',
      'isAnyArrayBuffer',
    ].map((name) => values.map((value) => types[name](value))),
  ]
})

t.test('the console stores lines up to its limits', async (t) => {
  const lines = await runRealm(`module.exports = () => {
    console.log('a %s', 'b', { c: [1] })
    console.log(1, true, -0, '100%'); console.log('%d%%', 5)
    console.error(new Error('failed').message)
    console.warn('w'); console.info('i'); console.debug('d')
    console.group('g'); console.log('inside\\nof it'); console.groupEnd()
    console.assert(false, 'no %s', 'way'); console.assert(true, 'writeOnly')
    console.count(); console.count()
    process.stdout.write('out\\n')
  }`)
  t.same(lines.console, [
    { level: 'log', text: 'a b { c: [ 1 ] }' },
    { level: 'log', text: '1 true -0 100%' },
    { level: 'log', text: '5%' },
    { level: 'error', text: 'failed' },
    { level: 'warn', text: 'w' },
    { level: 'info', text: 'i' },
    { level: 'debug', text: 'd' },
    { level: 'log', text: 'g' },
    { level: 'log', text: '  inside\n  of it' },
    { level: 'warn', text: 'Assertion failed: no way' },
    { level: 'log', text: 'default: 1' },
    { level: 'log', text: 'default: 2' },
    { level: 'log', text: 'out' },
  ])
  const shown = await runRealm(`module.exports = () => {
    console.log(new Error('failed'))
    console.log({ get [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } }); console.log(typeof Atomics)
  }`)
  t.same(
    shown.console.map(({ text }) => text),
    [
      'Error: failed\n    at module.exports (request_transform:2:17)',
      '[values that cannot be shown]',
      'undefined',
    ],
    'a stack has the frames of the code only; values that throw when they are shown are skipped',
  )
  const many = await runRealm('module.exports = () => { for (let i = 0; i < 1000; i++) console.log(i) }', {
    settings: { logLines: 3 },
  })
  t.same(
    many.console.map(({ text }) => text),
    ['0', '1', '2'],
  )
  const long = await runRealm(`module.exports = () => { console.log('x'.repeat(1e6)); console.log('y') }`, {
    settings: { logChars: 10 },
  })
  t.same(long.console, [{ level: 'log', text: 'x'.repeat(10) }])
  const wide = await runRealm(
    `module.exports = () => console.log({ list: new Array(1e7), more: Object.fromEntries(Array.from({ length: 50000 }, (_, i) => ['k' + i, { i }])) })`,
  )
  t.equal(wide.outcome?.kind, 'returned', 'objects of many members are cut')
  t.ok((wide.console[0]?.text.length ?? 0) <= 65_536)
})
