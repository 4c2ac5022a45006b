import t from 'tap'
import { Type } from 'typebox'
import { withNamedSchemas } from '../../../src/admin/openapi/component-schemas.ts'
import { openApi } from '../../../src/admin/openapi/document.ts'
import { isObject } from '../../../src/common/json.ts'
import { defineOperation } from '../../../src/sdk/index.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const PREFIX = '#/components/schemas/'

/** A document with each schema in the place of its references, and no names. */
const inlined = (value: unknown, schemas: Readonly<Record<string, unknown>>): unknown => {
  if (Array.isArray(value)) return value.map((item) => inlined(item, schemas))
  if (!isObject(value)) return value
  const { $ref, title: _, ...own } = value
  const target = typeof $ref === 'string' && $ref.startsWith(PREFIX) ? schemas[$ref.slice(PREFIX.length)] : {}
  return Object.fromEntries(
    Object.entries({ ...(target as object), ...own })
      .filter(([name]) => name !== 'title')
      .map(([name, child]) => [name, inlined(child, schemas)]),
  )
}

/** Types of one name and null, however they are written. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  const { anyOf, type, ...others } = value
  const [first, second] = Array.isArray(anyOf) && anyOf.length === 2 ? anyOf : []
  if (isObject(first) && first.properties && isObject(second) && second.type === 'null')
    return plain({ ...first, ...others, type: ['object', 'null'] })
  return Object.fromEntries(
    Object.entries({
      ...others,
      ...(anyOf === undefined ? {} : { anyOf }),
      ...(type === undefined ? {} : { type }),
    })
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, child]) => [name, plain(child)]),
  )
}

t.test('named component schemas do not change the meaning of the document', async (t) => {
  const { kernel } = await startTestService(t, { openStore: openInThread })
  const { operations, tokenTypes } = kernel.registry
  const document = openApi({ operations, tokenTypes }, { prefix: 'SVC', version: '1' })
  const named = withNamedSchemas(document)
  const schemas = named.components.schemas ?? {}
  t.same(
    plain(inlined(named.paths, schemas)),
    plain(inlined(document.paths, document.components.schemas ?? {})),
  )
  for (const name of [
    'Token',
    'TokenList',
    'Pagination',
    'TokensCreateRequest',
    'Proxy',
    'ProxyTransform',
    'Problem',
  ])
    t.ok(schemas[name], name)
  const titles = JSON.stringify(named.paths).match(/"title":"[A-Z][A-Za-z0-9]*","type":\["?object/g)
  t.equal(titles, null, 'nothing with a name is left where it was used')
  t.notMatch(JSON.stringify(named), /"patternProperties"/, 'maps are written as additionalProperties')
  const { post } = named.paths['/tokens'] ?? {}
  t.same(post?.requestBody?.content['application/json']?.schema, { $ref: `${PREFIX}TokensCreateRequest` })
})

t.test('a schema name is used once, and examples are not treated as schemas', (t) => {
  const part = (size: number) =>
    Type.Object({ a: Type.String({ maxLength: size, field: 1 }) }, { title: 'Part', field: size })
  const document = openApi(
    {
      operations: [
        defineOperation({
          rpc: 'Things.Create',
          http: 'POST /things',
          summary: 'Create a thing',
          permission: 'none',
          audit: 'none',
          input: Type.Object({
            first: part(1),
            again: { ...part(1), description: 'The same.' },
            other: part(2),
            either: { ...part(1), type: ['object', 'null'] },
            example: Type.Unknown({ default: { title: 'Part', properties: {} } }),
          }),
          output: Type.Object({}, { title: 'people read this' }),
          run: async () => ({}),
        }),
      ],
      tokenTypes: new Map(),
    },
    { prefix: 'SVC', version: '1' },
  )
  const { schemas = {} } = withNamedSchemas(document).components
  const $ref = `${PREFIX}Part`
  t.same((schemas.ThingsCreateRequest as { properties: object }).properties, {
    first: { $ref },
    again: { $ref, description: 'The same.' },
    other: {
      title: 'Part',
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string', maxLength: 2 } },
    },
    either: { anyOf: [{ $ref }, { type: 'null' }] },
    example: { default: { title: 'Part', properties: {} } },
  })
  t.same(Object.keys(schemas), ['Problem', 'ProxyError', 'Part', 'ThingsCreateRequest'])
  t.end()
})
