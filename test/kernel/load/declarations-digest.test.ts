import t from 'tap'
import { Type } from 'typebox'
import { digestOfDeclarations, type ValidationCache } from '../../../src/kernel/load/declarations-digest.ts'
import type { Contribution } from '../../../src/sdk/index.ts'
import { issuesOf, operationOf, pluginOf } from '../kit.ts'

const good = { summary: 'One', input: { id: 'a' }, output: { id: 'a' } }
const bad = { ...good, output: { id: 1 } }

const memory = () => {
  const retained: string[] = []
  const sound: ValidationCache = {
    has: (digest) => retained.at(-1) === digest,
    keep: (digest) => void retained.push(digest),
  }
  return { kept: retained, sound }
}

const digest = (contribution: Contribution) =>
  digestOfDeclarations([{ plugin: pluginOf(contribution), contribution }])

t.test('valid operations are checked once, until a declaration changes', async (t) => {
  const { kept: retained, sound } = memory()
  const start = (examples: unknown, name = 'One thing') =>
    issuesOf([pluginOf({ operations: [operationOf({ summary: name, examples })] })], {
      validationCache: sound,
    })
  t.same(await start([good]), [])
  t.equal(retained.length, 1)
  t.same(await start([good]), [])
  t.equal(retained.length, 1, 'it was not looked at again')
  t.same(await start([good], 'Another'), [])
  t.equal(retained.length, 2)
  t.match(await start([bad]), [/"id" must be a string/])
  t.match(await start([bad]), [/"id" must be a string/], 'an issue is reported each time')
  t.equal(retained.length, 2)
})

t.test('the digest covers schemas, permissions and the presence of functions, and no more', async (t) => {
  const of = (rest: Parameters<typeof operationOf>[0]) => digest({ operations: [operationOf(rest)] })
  t.equal(of({}), of({ run: async () => ({ id: 'other' }) }))
  t.not(of({}), of({ run: undefined }))
  t.not(of({}), of({ input: Type.Object({ id: Type.String({ field: 2 }) }) }))
  t.not(
    digest({}),
    digest({ permissions: [{ type: 'a:b', description: 'x', application_types: ['private'] }] }),
  )
  t.equal(of({ examples: [{ summary: 'x', input: { big: 1n }, output: {} }] }), undefined, 'what is no JSON')
})
