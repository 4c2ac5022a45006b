import t from 'tap'
import { Type } from 'typebox'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { checkCollection } from '../../../src/kernel/check/collection.ts'
import {
  Callable,
  checkDeclaration,
  issue,
  issueOfHolder,
  noOthers,
} from '../../../src/kernel/check/declaration.ts'
import { type Issue, issuesAt } from '../../../src/kernel/check/issues.ts'
import { checkOperation } from '../../../src/kernel/check/operation.ts'
import { checkTokenType } from '../../../src/kernel/check/token-type.ts'
import type { Collection } from '../../../src/sdk/index.ts'
import { operationOf, typeOf } from '../kit.ts'

const Thing = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z]+$', ...issueOfHolder('its name is {value}.', 'Correct it.') }),
    run: Callable(issue('it is not a function.', 'Give one.')),
    tags: Type.Optional(Type.Array(Type.String(), issueOfHolder('"{member}" is not a list.', 'List them.'))),
    parts: Type.Optional(
      Type.Array(
        Type.Object(
          { size: Type.Integer(issueOfHolder('{value} is not a size.', 'Give one.')), kind: Type.String() },
          issue('it has no kind.', 'Give { size, kind }.'),
        ),
      ),
    ),
  },
  { ...issue('it is not an object.', 'Give one.'), ...noOthers('there is no "{member}".') },
)

const check = (value: unknown) => {
  const issues: Issue[] = []
  const isValid = checkDeclaration(Thing, value, issuesAt('thing', issues))
  return { isValid, issues: issues.map(({ location, message, fix }) => `${location}: ${message} ${fix}`) }
}

const run = () => {}

t.test('a declaration that its schema accepts has no issue', async (t) => {
  t.same(check({ name: 'a', run, tags: ['x'], parts: [{ size: 1, kind: 'k' }] }).issues, [])
  class Inherited {
    name = 'a'
    run() {}
  }
  t.same(check(new Inherited()).issues, [], 'methods of a class count')
})

t.test('all issues of a declaration are reported, each at its location', async (t) => {
  t.same(
    check({
      run: 1,
      tags: [1, 2],
      parts: [{ size: 1, kind: 'k' }, { size: 'x' }],
      extra: 1,
    }).issues.toSorted(),
    [
      'thing: its name is undefined. Correct it.',
      'thing › parts[1]: it has no kind. Give { size, kind }.',
      'thing: there is no "extra". Known are name, run, tags, parts.',
      'thing › run: it is not a function. Give one.',
      'thing: "tags" is not a list. List them.',
      'thing › parts[1]: "x" is not a size. Give one.',
    ].sort(),
  )
  t.same(check([]).issues, ['thing: it is not an object. Give one.'])
})

t.test('a value that JSON cannot express is named by its type', async (t) => {
  t.same(check({ name: 1n, run }).issues, ['thing: its name is a bigint. Correct it.'])
})

t.test('isValid is false for what has an issue and for what is inside it', async (t) => {
  const { isValid } = check({
    name: 'a',
    run,
    tags: 'x',
    parts: [
      { size: 1, kind: 'k' },
      { size: 'x', kind: 'k' },
    ],
  })
  t.ok(isValid('name'))
  t.ok(isValid('parts', 0, 'size'))
  t.ok(isValid('parts', 1, 'kind'))
  t.notOk(isValid('parts', 1, 'size'))
  t.notOk(isValid('tags'))
  t.notOk(isValid('tags', 0))
  t.notOk(check('x').isValid('name'))
})

const JUNK = [null, undefined, 1, 'x', true, [], {}, [null], [1], ['x'], [{}], () => 1, Symbol('x'), 1n]

const members = (declaration: object, others: readonly string[]) => [...Object.keys(declaration), ...others]

t.test('a declaration with any value as a member is checked without an exception', async (t) => {
  const issues = issuesAt('thing', [])
  const expressions = createExpressions()
  const collection = { name: 'things', schema: Type.Object({ id: Type.String() }) }
  for (const value of JUNK) {
    for (const name of members(operationOf(), [
      'body',
      'responseBody',
      'status',
      'errors',
      'examples',
      'consumes',
    ]))
      checkOperation(operationOf({ [name]: value }), new Set(), issues)
    for (const name of members(typeOf(), [
      'checks',
      'ephemeral',
      'writeOnly',
      'searchIndexes',
      'mask',
      'examples',
    ]))
      checkTokenType(typeOf({ [name]: value }), expressions, issues)
    for (const name of members(collection, [
      'indexes',
      'lookups',
      'unique',
      'sealed',
      'hosts',
      'tokens',
      'expires',
    ]))
      checkCollection({ ...collection, [name]: value } as Collection, issues)
  }
  t.pass('no exception')
})
