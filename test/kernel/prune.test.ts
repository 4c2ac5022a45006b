import t from 'tap'
import { Type } from 'typebox'
import { compilePrune } from '../../src/kernel/prune.ts'

t.test('only members declared by the schema are copied, at any depth', async (t) => {
  const pick = compilePrune(
    Type.Object({
      a: Type.String(),
      list: Type.Array(Type.Object({ b: Type.Integer() })),
      maybe: Type.Union([Type.Object({ c: Type.String() }), Type.Null()]),
    }),
  )
  const value = { a: 'x', extra: 1, list: [{ b: 1, c: 2 }, 'odd'], maybe: { c: 'y', d: 'z' }, u: undefined }
  t.strictSame(pick(value), { a: 'x', list: [{ b: 1 }, 'odd'], maybe: { c: 'y' } })
  t.strictSame(value.list[0], { b: 1, c: 2 }, 'the value itself is as it was')
  t.strictSame(pick({ a: undefined, maybe: null }), { maybe: null })
})

t.test('values of any type, open objects and maps are copied completely', async (t) => {
  const pick = compilePrune(
    Type.Object({
      any: Type.Unknown(),
      open: Type.Object({ a: Type.String() }, { additionalProperties: true }),
      map: Type.Record(Type.String(), Type.Object({ a: Type.String() })),
    }),
  )
  t.strictSame(pick({ any: { x: [1] }, open: { a: '1', b: 2 }, map: { k: { a: '1', b: 2 } } }), {
    any: { x: [1] },
    open: { a: '1', b: 2 },
    map: { k: { a: '1' } },
  })
})

t.test("values of another type than the schema's are left to validation", async (t) => {
  const pick = compilePrune(
    Type.Object({ a: Type.Object({ b: Type.String() }), l: Type.Array(Type.String()) }),
  )
  t.strictSame(pick({ a: [1], l: 'x' }), { a: [1], l: 'x' })
  t.equal(pick(null), null)
  t.strictSame(pick([]), [])
})

t.test('members named __proto__ and constructor reach no prototype', async (t) => {
  const pick = compilePrune(Type.Object({ map: Type.Record(Type.String(), Type.Unknown()) }))
  const picked = pick(
    JSON.parse('{"__proto__":{"evil":1},"map":{"__proto__":{"evil":1},"constructor":{"x":1}}}'),
  ) as {
    map: Record<string, unknown>
  }
  t.equal(Object.getPrototypeOf(picked), Object.prototype)
  t.equal(Object.getPrototypeOf(picked.map), Object.prototype)
  t.equal((picked as { evil?: unknown }).evil, undefined)
  t.equal(({} as { evil?: unknown }).evil, undefined)
  t.same(Object.keys(picked.map), ['__proto__', 'constructor'])
})

t.test('inherited members are not copied', async (t) => {
  const pick = compilePrune(Type.Object({ toString: Type.Optional(Type.String()), a: Type.String() }))
  t.strictSame(Object.keys(pick({ a: 'x' }) as object), ['a'])
})
