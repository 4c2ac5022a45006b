import fc from 'fast-check'
import t from 'tap'
import { ALL, openTestVault, rule } from '../kit.ts'

/** A token of the test, as a naive reader of the specification sees it. */
interface Model {
  readonly id: string
  readonly container: string
  readonly data: string
  readonly metadata: Readonly<Record<string, string>>
  readonly modified: boolean
}

interface Query {
  readonly text: string
  readonly holds: (token: Model) => boolean
}

const VALUES = ['a', 'b', 'ab', 'ä', 'B'] as const
const CONTAINERS = ['/x/', '/x/y/', '/xy/', '/z/'] as const
const value = fc.constantFrom(...VALUES)
const container = fc.constantFrom(...CONTAINERS)

const model = fc.record({
  container,
  data: value,
  metadata: fc.dictionary(fc.constantFrom('k', 'm'), value, { noNullPrototype: true }),
  modified: fc.boolean(),
})

const least = (text: string): Buffer => Buffer.from(text)
const compare = (a: string, b: string): number => Buffer.compare(least(a), least(b))

const clause: fc.Arbitrary<Query> = fc.oneof(
  value.map((v) => ({ text: `data:"${v}"`, holds: ({ data }: Model) => data === v })),
  value.map((v) => ({ text: `metadata.k:${v}`, holds: ({ metadata }: Model) => metadata.k === v })),
  container.map((c) => ({ text: `container:${c}`, holds: (token: Model) => token.container.startsWith(c) })),
  fc.constant({ text: 'container:/x*', holds: (token: Model) => token.container.startsWith('/x') }),
  fc
    .constantFrom('t-1', 't-12')
    .map((id) => ({ text: `id:${id}`, holds: (token: Model) => token.id === id })),
  fc.constant({ text: 'id:t-1*', holds: ({ id }: Model) => id.startsWith('t-1') }),
  fc.constant({ text: 'modified_at:[* TO *]', holds: ({ modified }: Model) => modified }),
  fc.constant({ text: 'modified_at:[2020-01-01 TO *}', holds: ({ modified }: Model) => modified }),
  fc.tuple(value, value, fc.boolean(), fc.boolean()).map(([from, to, low, high]) => ({
    text: `metadata.k:${low ? '[' : '{'}${from} TO ${to}${high ? ']' : '}'}`,
    holds: ({ metadata: { k } }: Model) =>
      k !== undefined &&
      (compare(k, from) > 0 || (low && k === from)) &&
      (compare(k, to) < 0 || (high && k === to)),
  })),
)

const query: fc.Arbitrary<Query> = fc.letrec<{ query: Query }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    clause,
    tie('query').map((q) => ({ text: `NOT (${q.text})`, holds: (m: Model) => !q.holds(m) })),
    fc.tuple(tie('query'), tie('query'), fc.constantFrom(' AND ', ' ')).map(([a, b, and]) => ({
      text: `(${a.text})${and}(${b.text})`,
      holds: (m: Model) => a.holds(m) && b.holds(m),
    })),
    fc.tuple(tie('query'), tie('query')).map(([a, b]) => ({
      text: `(${a.text}) OR (${b.text})`,
      holds: (m: Model) => a.holds(m) || b.holds(m),
    })),
  ),
})).query

t.test('searches find what a naive evaluator finds, within what the caller may see', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  const tokens: Model[] = []
  for (const [i, one] of fc.sample(model, { numRuns: 40, seed: 1 }).entries()) {
    const { container, data, metadata, modified } = one
    const { id } = await create({
      id: `t-${i}`,
      data,
      metadata,
      containers: [container],
      search_indexes: ['{{ data }}'],
    })
    if (modified) await vault.update(id, {}, as())
    tokens.push({ ...one, id })
  }
  const rules = [rule('/x/', 'mask', ALL)]
  await fc.assert(
    fc.asyncProperty(query, fc.boolean(), async ({ text, holds }, bounded) => {
      const context = bounded ? as([], rules) : as()
      const visible = tokens.filter(({ container }) => !bounded || container.startsWith('/x/'))
      const expected = visible.filter(holds).map(({ id }) => id)
      const page = { kind: 'offset', page: 1, size: 100 } as const
      const result = await vault.list({ query: text }, page, context, 'token:search')
      const ids = result.data.map(({ id }) => id).reverse()
      return JSON.stringify(ids) === JSON.stringify(expected) && result.total === expected.length
    }),
    { numRuns: 300, seed: 7 },
  )
})
