import t from 'tap'
import { type TSchema, Type } from 'typebox'
import { type Issue, issuesAt } from '../../../src/kernel/check/issues.ts'
import { checkOperation, routeKey } from '../../../src/kernel/check/operation.ts'
import type { Operation } from '../../../src/sdk/index.ts'
import { operationOf } from '../kit.ts'

const id = Type.String({ field: 1 })

const issuesOf = (rest: Partial<Record<keyof Operation, unknown>>): string[] => {
  const issues: Issue[] = []
  checkOperation(operationOf(rest), new Set(['thing:read']), issuesAt('operation', issues))
  return issues.map(({ location: place, message, fix }) => `${place}: ${message} ${fix}`)
}

const input = (properties: Record<string, TSchema>) => Type.Object({ id, ...properties })

const TABLE: readonly (readonly [string, Partial<Record<keyof Operation, unknown>>, RegExp])[] = [
  ['an rpc without a service', { rpc: 'get' }, /its rpc is not "Service\.Method"/],
  ['an unknown member', { htpp: 'x' } as never, /an operation has no member "htpp"/],
  ['no summary', { summary: '' }, /it has no summary/],
  [
    'an unknown error',
    { errors: ['no_such'] },
    /"errors" is not a list of error codes\. Known are .*not_found/,
  ],
  [
    'an example that does not fit',
    { examples: [{ summary: 'x', input: { id: 1 }, output: { id: 'a' } }] },
    /examples\[0\] › input: "id" must be a string\. Correct the example/,
  ],
  ['no run', { run: undefined }, /it has no run function/],
  ['an undeclared permission', { permission: 'thing:write' }, /"thing:write" is declared by no plugin/],
  ['an unknown method', { http: 'FETCH /things' }, /"FETCH \/things" is not a method and a path/],
  ['half a path member', { http: 'GET /things/x{id}' }, /neither plain text nor one \{member\}/],
  ['a trailing slash', { http: 'GET /things/{id}/' }, /neither plain text nor one \{member\}/],
  ['a path of the service', { http: 'GET /proxy/{id}' }, /"\/proxy" belongs to the service itself/],
  ['a path member twice', { http: 'GET /things/{id}/{id}' }, /names a member twice/],
  [
    'a path member outside the input',
    { http: 'GET /things/{id}/{part}' },
    /\{part\} is not in the input schema.*Add "part"/,
  ],
  [
    'an optional path member',
    { input: Type.Object({ id: Type.Optional(Type.String({ field: 1 })) }) },
    /\{id\} is not a required string or integer/,
  ],
  [
    'a path member that is an object',
    { input: Type.Object({ id: Type.Object({}, { field: 1 }) }) },
    /\{id\} is not a required string or integer/,
  ],
  [
    'an input that is no object',
    { input: Type.String(), http: 'GET /things' },
    /input: it is not an object schema/,
  ],
  [
    'a property without number',
    { input: input({ name: Type.String() }) },
    /input › name: it has no field number/,
  ],
  [
    'a number that is 0',
    { input: input({ name: Type.String({ field: 0 }) }) },
    /name: 0 is not a field number/,
  ],
  [
    'a number of text',
    { input: input({ name: Type.String({ field: '2' }) }) },
    /name: "2" is not a field number/,
  ],
  [
    'a number past the last',
    { input: input({ name: Type.String({ field: 2 ** 29 }) }) },
    /536870912 is not a field number.*1 to 536870911/,
  ],
  [
    'a number that proto reserves',
    { input: input({ name: Type.String({ field: 19500 }) }) },
    /19500 is not a field/,
  ],
  [
    'a number twice',
    { input: input({ name: Type.String({ field: 1 }) }) },
    /input › name: its field number 1 is already that of "id"/,
  ],
  [
    'a nested property without number',
    { output: Type.Object({ id, list: Type.Array(Type.Object({ deep: Type.String() }), { field: 2 }) }) },
    /output › list › deep: it has no field number/,
  ],
  [
    'a nested number twice, below an alternative and a map',
    {
      output: Type.Object({
        id,
        map: Type.Union(
          [
            Type.Null(),
            Type.Record(
              Type.String(),
              Type.Object({ a: Type.String({ field: 1 }), b: Type.String({ field: 1 }) }),
            ),
          ],
          { field: 2 },
        ),
      }),
    },
    /output › map › \* › b: its field number 1 is already that of "a"/,
  ],
  [
    'a name that proto cannot have',
    { input: input({ 'a-b': Type.String({ field: 2 }) }) },
    /a-b: its name cannot be a proto field name/,
  ],
  [
    'a pattern that is none',
    { input: input({ name: Type.String({ field: 2, pattern: '(' }) }) },
    /input: the schema does not compile/,
  ],
  ['a body on GET', { body: 'id', http: 'GET /things' }, /a GET has no request body/],
  [
    'a body member outside the input',
    { http: 'POST /things', body: 'data' },
    /"data" is not in the input schema/,
  ],
  [
    'a body member of the path',
    { http: 'POST /things/{id}', body: 'id' },
    /"id" is both in the path and the body/,
  ],
  ['a response body outside the output', { responseBody: 'items' }, /"items" is not in the output schema/],
  ['a status of failure', { status: 404 }, /404 is not a status of success/],
  ['a 201 without location', { http: 'POST /things', status: 201 }, /a 201 has no Location/],
  ['content types that are none', { http: 'POST /things', consumes: ['json'] }, /"consumes" is not a list/],
  ['no audit declaration', { audit: undefined }, /it has no audit record/],
  [
    'an audit record of nothing',
    {
      http: 'GET /things',
      audit: { entity: 'thing', verb: 'read' },
      input: Type.Object({}),
      output: Type.Object({ name: Type.String({ field: 1 }) }),
    },
    /neither output nor input has an "id"/,
  ],
  [
    'a message past its length',
    { audit: { entity: 'thing', verb: 'read', message: 'x'.repeat(251) } },
    /its message is not text of at most 250/,
  ],
]

for (const [what, rest, issue] of TABLE)
  t.test(`an operation with ${what} has that one issue`, async (t) => {
    const issues = issuesOf(rest)
    t.equal(issues.length, 1, issues.join('\n'))
    t.match(issues[0], issue)
  })

t.test('operations that use every feature have no issue', async (t) => {
  t.same(issuesOf({}), [])
  t.same(issuesOf({ permission: 'thing:read' }), [])
  t.same(
    issuesOf({
      http: 'POST /things/{id}/parts',
      permission: 'none',
      status: 201,
      location: () => '/things/1',
      body: 'part',
      consumes: ['application/merge-patch+json'],
      responseBody: 'part',
      audit: { entity: 'thing', verb: 'create', message: 'Thing created' },
      input: input({ part: Type.Unknown({ field: 536870911 }) }),
      output: input({ part: Type.Unknown({ field: 2 }) }),
    }),
    [],
  )
})

t.test('routes that differ only in names of parameters are the same route', async (t) => {
  t.equal(routeKey('GET /a/{b}/c'), routeKey('GET /a/{d}/c/'))
  t.not(routeKey('GET /a/{b}'), routeKey('PUT /a/{b}'))
  t.not(routeKey('GET /a/{b}'), routeKey('GET /a/b'))
})
