import t from 'tap'
import { Type } from 'typebox'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { type Issue, issuesAt } from '../../../src/kernel/check/issues.ts'
import { checkOperation } from '../../../src/kernel/check/operation.ts'
import { checkTokenType } from '../../../src/kernel/check/token-type.ts'
import { declarativePlugin } from '../../../src/kernel/load/declarative.ts'
import { operationOf, typeOf } from '../kit.ts'

const ofOperation = (examples: unknown) => {
  const issues: Issue[] = []
  const input = Type.Object({ id: Type.String({ field: 1 }), size: Type.Integer({ default: 20, field: 2 }) })
  checkOperation(operationOf({ input, examples }), new Set(), issuesAt('operation', issues))
  return issues.map(({ location: place, message }) => `${place}: ${message}`)
}

const ofType = (examples: unknown, rest: Parameters<typeof typeOf>[0] = {}) => {
  const issues: Issue[] = []
  checkTokenType(typeOf({ ...rest, examples }), createExpressions(), issuesAt('type', issues))
  return issues.map(({ location: place, message }) => `${place}: ${message}`)
}

const good = { summary: 'One', input: { id: 'a' }, output: { id: 'a' } }

t.test('valid examples have no issue, and stay unchanged', async (t) => {
  const examples = [
    good,
    { summary: 'Two', input: {}, error: { code: 'not_found', detail: 'There is none.' } },
  ]
  const before = structuredClone(examples)
  t.same(ofOperation(examples), [])
  t.same(ofOperation(undefined), [])
  t.strictSame(examples, before, 'no default was filled in')
})

t.test('an example input or output that its schema rejects is an issue at its place', async (t) => {
  t.same(ofOperation([good, { ...good, summary: 'Two', input: { size: 'many' } }]), [
    'operation › examples[1] › input: "id" is required.',
    'operation › examples[1] › input: "size" must be an integer.',
  ])
  t.same(ofOperation([{ ...good, output: { id: 1 } }]), [
    'operation › examples[0] › output: "id" must be a string.',
  ])
})

t.test('unknown members of an example are an issue', async (t) => {
  const place = 'operation › examples[0]'
  const message = 'it has members that the schema does not name.'
  t.same(ofOperation([{ ...good, output: { id: 'a', nmae: 'x' } }]), [`${place} › output: ${message}`])
  t.same(ofOperation([{ ...good, input: { id: 'a', nmae: 'x' } }]), [`${place} › input: ${message}`])
})

t.test('an example has a unique summary, and exactly one outcome', async (t) => {
  for (const [examples, issue] of [
    ['none', 'operation › examples: it is not a list.'],
    [['x'], 'operation › examples[0]: it has no summary.'],
    [[{ input: {}, output: {} }], 'operation › examples[0]: it has no summary.'],
    [[good, good], 'operation › examples[1]: another example of the operation has its summary.'],
    [[{ summary: 'x', input: {} }], 'operation › examples[0]: it has no result.'],
    [[{ ...good, error: { code: 'invalid', detail: 'x' } }], 'operation › examples[0]: it has no result.'],
    [
      [{ summary: 'x', input: {}, error: { code: 'no_such', detail: 'x' } }],
      'operation › examples[0] › error: "no_such" is not a code of a failure.',
    ],
    [
      [{ summary: 'x', input: {}, error: { code: 'invalid' } }],
      'operation › examples[0] › error: it has no detail.',
    ],
    [[{ ...good, output: () => 1 }], 'operation › examples[0] › output: it is no JSON.'],
    [[{ ...good, input: 1n }], 'operation › examples[0] › input: it is no JSON.'],
  ] as const)
    t.same(ofOperation(examples), [issue])
})

t.test('example data of a token type must pass its schema, and its check after normalization', async (t) => {
  t.same(ofType([{ code: 'A1' }, { code: 'B2', pin: '1234' }]), [])
  t.same(ofType([{ code: 'A1' }, { code: 1 }]), ['type › examples[1]: "code" must be a string.'])
  t.same(ofType('A1'), ['type › examples: it is not a list.'])
  const normalize = ({ code }: { code: string }) => ({ code: code.toUpperCase() })
  const check = ({ code }: { code: string }) =>
    code === 'A1' ? [] : [{ at: '/code', message: 'must be A1' }]
  t.same(ofType([{ code: 'a1' }], { normalize, check }), [])
  t.same(ofType([{ code: 'a2' }], { normalize, check }), ['type › examples[0]: its own check rejects it.'])
  const throwing = () => {
    throw new Error('no such club')
  }
  t.same(ofType([{ code: 'a' }], { check: throwing }), [
    'type › examples[0]: its check throws: no such club.',
  ])
})

t.test('a JSON plugin may have examples too', async (t) => {
  const issues: Issue[] = []
  const tokenTypes = [{ ...typeOf(), examples: [{ code: 'A1' }] }]
  declarativePlugin({ api: 1, name: 'lockers', version: '1.0.0', tokenTypes }, issuesAt('file', issues))
  t.same(issues, [])
})
