import fc from 'fast-check'
import t from 'tap'
import { deeperThan, isObject, mergePatch, valueAt, without } from '../../src/common/json.ts'

t.test('merge patch gives the results of the examples of RFC 7386, appendix A', async (t) => {
  const cases: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [target, patch, result] of cases) t.strictSame(mergePatch(target, patch), result)
})

t.test('merge patch keeps a member named __proto__ as data and pollutes nothing', async (t) => {
  const merged = mergePatch({}, JSON.parse('{"__proto__":{"polluted":true},"a":1}')) as Record<
    string,
    unknown
  >
  t.equal(JSON.stringify(merged), '{"__proto__":{"polluted":true},"a":1}')
  t.equal(({} as Record<string, unknown>).polluted, undefined)
})

t.test('merge patch does not change its target', async (t) => {
  const target = { a: { b: 1 } }
  mergePatch(target, { a: { b: 2, c: 3 } })
  t.strictSame(target, { a: { b: 1 } })
})

t.test('depth is counted without recursion', async (t) => {
  t.equal(deeperThan(JSON.parse('[[1]]'), 2), false)
  t.equal(deeperThan(JSON.parse('[[[1]]]'), 2), true)
  let deep: unknown = 1
  for (let i = 0; i < 200_000; i++) deep = [deep]
  t.equal(deeperThan(deep, 64), true)
})

t.test('a pointer finds own members only, with RFC 6901 escapes', async (t) => {
  t.equal(valueAt({ 'a/b': { 'c~d': 1 } }, '/a~1b/c~0d'), 1)
  t.equal(valueAt({}, '/constructor'), undefined)
  t.strictSame(valueAt([1, 2], ''), [1, 2])
  t.equal(valueAt('text', '/length'), undefined)
})

t.test('without() removes what a pointer names and nothing else', async (t) => {
  t.strictSame(without({ a: { b: 1, c: 2 }, d: 3 }, '/a/b'), { a: { c: 2 }, d: 3 })
  t.strictSame(without({ a: 1 }, '/b/c'), { a: 1 })
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (object, name) => {
      const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const result = without(object, pointer) as Record<string, unknown>
      return !Object.hasOwn(result, name) && Object.keys(result).every((key) => Object.hasOwn(object, key))
    }),
  )
})

t.test('only plain objects are objects', async (t) => {
  t.equal(isObject({}), true)
  for (const other of [null, [], 'x', 1, undefined]) t.equal(isObject(other), false)
})
