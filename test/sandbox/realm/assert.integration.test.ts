import t from 'tap'
import { sameAsNode } from './kit.ts'

sameAsNode(t, 'assert: errors of failed comparisons are those of Node', () => {
  const assert = require('node:assert')
  const circular: Record<string, unknown> = { a: 1 }
  circular.self = circular
  const attempts: (() => void)[] = [
    () => assert(1),
    () => assert(0, 'own words'),
    () => assert.ok(),
    () => assert.ok(null, new RangeError('own')),
    () => assert.equal(1, '1'),
    () => assert.equal(Number.NaN, Number.NaN),
    () => assert.equal(1, 2),
    () => assert.equal({ a: 1 }, { a: 1 }),
    () => assert.notEqual(1, '1'),
    () => assert.equal(1),
    () => assert.strictEqual(1, 1),
    () => assert.strictEqual(1, 2),
    () => assert.strictEqual('a\nb', 'a\nc'),
    () => assert.strictEqual(0, -0),
    () => assert.strictEqual({ a: 1 }, { a: 1 }),
    () => assert.strictEqual([1, 2, 3], [1, 2, 4]),
    () => assert.strictEqual('x'.repeat(100), 'y'),
    // Node 24 adds the difference to the words of strictEqual, Node 16 does not.
    () => assert.notStrictEqual(1, 1, 'own words'),
    () => assert.strictEqual(1, 2, new RangeError('own')),
    () => assert.notStrictEqual(1, 1),
    () => assert.notStrictEqual(circular, circular),
    () => assert.deepStrictEqual({ a: [1] }, { a: [1] }),
    () => assert.deepStrictEqual({ a: 1, b: [1, 2] }, { a: 2, b: [1, 2] }),
    () => assert.deepStrictEqual([1, 2], [1, 2, 3]),
    () => assert.deepStrictEqual(1, 2),
    () => assert.notDeepStrictEqual({ a: 1 }, { a: 1 }),
    () => assert.notDeepStrictEqual(1, 1),
    () => assert.deepEqual({ a: 1 }, { a: '1' }),
    () => assert.deepEqual({ a: 1 }, { a: 2 }),
    () => assert.notDeepEqual({ a: 1 }, { a: 1 }),
    () => assert.notDeepEqual({ a: 1 }, { a: '1' }),
    () => assert.match('abc', /b/),
    () => assert.match('abc', /x/),
    () => assert.match('abc', /x/, 'own words'),
    () => assert.match(5, /x/),
    () => assert.match('abc', 'x'),
    () => assert.doesNotMatch('abc', /b/),
    () => assert.doesNotMatch('abc', /x/),
    () => assert.ifError(null),
    () => assert.ifError(undefined),
    () => assert.ifError(new Error('abc')),
    () => assert.ifError({ message: '' }),
    () => assert.ifError(0),
    () => assert.fail(),
    () => assert.fail('own words'),
    () => assert.fail(new RangeError('own')),
    () => assert.strict.equal(1, '1'),
    () => assert.strict.deepEqual({ a: 1 }, { a: '1' }),
    () => assert.strict.notEqual(1, '1'),
    () => assert.strict.notDeepEqual({ a: 1 }, { a: '1' }),
    () => assert.strict(0, 'own words'),
    () => require('node:assert/strict').equal(1, '1'),
    () => new assert.AssertionError(),
    () => assert.fail(String(new assert.AssertionError({ actual: 1, expected: 2, operator: 'strictEqual' }))),
  ]
  return attempts.map((attempt) => {
    try {
      attempt()
      return 'passed'
    } catch (error) {
      const { name, code, message, generatedMessage, operator } = error as Record<string, unknown>
      return [name, code, message, generatedMessage, operator]
    }
  })
})

sameAsNode(t, 'assert: errors and rejections are judged as by Node', async () => {
  const assert = require('node:assert')
  const fails = () => {
    throw Object.assign(new TypeError('abc'), { code: 'E_X' })
  }
  const attempts: (() => unknown)[] = []
  const expectations: unknown[][] = [
    [],
    [TypeError],
    [Error],
    [RangeError],
    [RangeError, 'own words'],
    [/abc/],
    [/xyz/],
    [{ message: 'abc' }],
    [{ message: /b/, code: 'E_X', name: 'TypeError' }],
    [{ message: 'abd' }],
    [{ other: 1 }],
    [{ other: 1 }, 'own words'],
    [Object.assign(new TypeError('abc'), { code: 'E_X' })],
    [new TypeError('xyz')],
    [(error: Error) => error.message === 'abc'],
    [() => false],
    [() => 1, 'own words'],
    ['own words'],
    ['abc'],
    ['own', 'words'],
    [{}],
    [5],
    [null],
  ]
  for (const args of expectations) {
    attempts.push(() => assert.throws(fails, ...args))
    attempts.push(() => assert.throws(() => {}, ...args))
    attempts.push(() => assert.doesNotThrow(fails, ...args))
    attempts.push(() => assert.doesNotThrow(() => {}, ...args))
    attempts.push(() => assert.rejects(async () => fails(), ...args))
    attempts.push(() => assert.rejects(Promise.resolve(), ...args))
    attempts.push(() => assert.doesNotReject(async () => fails(), ...args))
    attempts.push(() => assert.doesNotReject(Promise.resolve(), ...args))
  }
  attempts.push(
    () => assert.throws(5),
    () =>
      assert.throws(
        () => {
          throw 5
        },
        { message: 'x' },
      ),
    () =>
      assert.throws(() => {
        throw 5
      }, RangeError),
    () => assert.rejects(() => 5),
    () => assert.rejects(5),
    () => assert.rejects(fails),
  )
  const outcomes: unknown[] = []
  for (const attempt of attempts)
    try {
      await attempt()
      outcomes.push('passed')
    } catch (error) {
      const { name, code, message, generatedMessage, operator } = error as Record<string, unknown>
      outcomes.push([name, code, message, generatedMessage, operator])
    }
  return outcomes
})

sameAsNode(t, 'assert and util compare values deeply as Node does', () => {
  const assert = require('node:assert')
  const { isDeepStrictEqual } = require('node:util')
  const symbol = Symbol('s')
  class Point {
    x = 1
  }
  const withTag = (entries: [number, number][]) =>
    Object.defineProperty(new Map(entries), Symbol.toStringTag, { value: 'Tagged' })
  const circular = (depth: number): Record<string, unknown> => {
    const inner: Record<string, unknown> = {}
    let outer = inner
    for (let i = 0; i < depth; i++) outer = { a: outer }
    inner.a = outer
    return outer
  }
  // Each call makes new objects.
  const values = (): unknown[] => [
    0,
    -0,
    1,
    '1',
    1n,
    true,
    '',
    null,
    undefined,
    Number.NaN,
    symbol,
    {},
    [],
    { a: 1 },
    { a: '1' },
    { a: undefined },
    { b: 1 },
    { a: { b: [1, { c: 2 }] } },
    { a: { b: [1, { c: 3 }] } },
    [1, 2],
    [1, 2, undefined],
    Object.assign([1, 2], { extra: 1 }),
    Object.assign(new Array(2), { 1: 1 }), // a hole is no member
    [undefined, 1],
    { 0: 1, 1: 2, length: 2 },
    { [symbol]: 1 },
    { [symbol]: 2 },
    Object.defineProperty({}, 'hidden', { value: 1 }),
    Object.create(null),
    Object.assign(Object.create(null), { a: 1 }),
    new Point(),
    { x: 1 },
    new Date(0),
    new Date(1),
    Object.assign(new Date(0), { a: 1 }),
    /a/g,
    /a/i,
    /b/g,
    new Error('a'),
    new Error('b'),
    new TypeError('a'),
    Object.assign(new Error('a'), { code: 1 }),
    Object.assign(new Error('a'), { cause: 1 }),
    Object.assign(new Error('a'), { cause: 2 }),
    new Set(),
    new Set([1, 2]),
    new Set([2, 1]),
    new Set(['1', 2]),
    new Set([{ a: 1 }, { a: 2 }]),
    new Set([{ a: 2 }, { a: 1 }]),
    new Set([{ a: 1 }, { a: 1 }]),
    new Set([null]),
    new Set([undefined]),
    new Map(),
    new Map([[1, 2]]),
    new Map([['1', 2]]),
    new Map([[1, '2']]),
    new Map([[1, undefined]]),
    new Map<unknown, unknown>([
      [{ a: 1 }, 'x'],
      [{ a: 1 }, 'y'],
    ]),
    new Map<unknown, unknown>([
      [{ a: 1 }, 'y'],
      [{ a: 1 }, 'x'],
    ]),
    new Map([['k', new Map([['k', new Map([['k', 1]])]])]]),
    new Map([['k', new Map([['k', new Map([['k', 2]])]])]]),
    withTag([[1, 2]]),
    withTag([[1, 3]]),
    new Uint8Array([1, 2]),
    new Uint8Array([1, 3]),
    new Int8Array([1, 2]),
    Buffer.from([1, 2]),
    new Float64Array([0]),
    new Float64Array([-0]),
    new Uint8Array([1, 2]).buffer,
    new Uint8Array([1, 3]).buffer,
    new Number(1),
    new Number(2),
    new String('1'),
    new String('2'),
    new Boolean(true),
    new Boolean(false),
    Object(1n),
    Object(symbol),
    new URL('https://a.example/x'),
    new URL('https://a.example/y'),
    new WeakMap(),
    new WeakSet(),
    Promise.resolve(1),
    circular(1),
    circular(2),
    () => 1,
    new Function('return arguments')(1, 2),
  ]
  const passes = (compare: () => void) => {
    try {
      compare()
      return true
    } catch {
      return false
    }
  }
  const right = values()
  const differing: string[] = []
  values().forEach((a, i) => {
    right.forEach((b, j) => {
      const strict = isDeepStrictEqual(a, b)
      if (passes(() => assert.deepStrictEqual(a, b)) !== strict) differing.push(`${i} ${j} strict`)
      if (passes(() => assert.notDeepStrictEqual(a, b)) === strict) differing.push(`${i} ${j} not strict`)
      const loose = passes(() => assert.deepEqual(a, b))
      if (passes(() => assert.notDeepEqual(a, b)) === loose) differing.push(`${i} ${j} not loose`)
      if (strict) differing.push(`${i} ${j} strictly equal`)
      if (loose) differing.push(`${i} ${j} loosely equal`)
    })
  })
  const view = (...bytes: number[]) => new DataView(new Uint8Array(bytes).buffer)
  const shared = { a: 1 }
  return [
    differing,
    isDeepStrictEqual(view(1, 2), view(1, 2)),
    isDeepStrictEqual(view(1, 2), view(1, 3)),
    isDeepStrictEqual([shared, shared], [{ a: 1 }, { a: 1 }]),
  ]
})
