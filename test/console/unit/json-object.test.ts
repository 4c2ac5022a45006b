import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { mergePatch as applyPatch } from '../../../src/common/json.ts'
import { mergePatch, objectText, parseObject } from '../../../src/console/kit/json-object.ts'

const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('a', '', 1, true, [], [1, { a: null }]),
    fc.dictionary(fc.constantFrom('a', 'b', 'toString', '__proto__'), tie('value'), { maxKeys: 3 }),
  ),
}))
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), json, { maxKeys: 4 })

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

t.test('the patch turns one object into the other, and is undefined without changes', (t) => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      const patch = mergePatch(before, after)
      const patched = patch === undefined ? before : applyPatch(before, patch)
      if (!isDeepStrictEqual(plain(patched), plain(after))) throw new Error(JSON.stringify(patch))
      t.equal(mergePatch(after, after), undefined)
    }),
    { numRuns: 500 },
  )
  t.end()
})

t.test('a null that a patch cannot set is reported with its place', (t) => {
  t.throws(() => mergePatch({}, { a: { b: null } }), /a\.b/)
  t.strictSame(mergePatch({ a: null }, { a: null, b: [null] }), { b: [null] })
  t.end()
})

t.test('a text parses to an object, or gives an error message', (t) => {
  t.strictSame(parseObject(objectText({ a: [1] })).value, { a: [1] })
  t.strictSame(parseObject(' ').value, {})
  for (const text of ['[]', 'null', '1', '"a"']) t.match(parseObject(text).error, /Write an object/)
  t.match(parseObject('{"a": }').error, /not JSON/)
  t.end()
})
