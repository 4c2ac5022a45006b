import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import t from 'tap'
import type { OpenApi, OpenApiOperation } from '../../../src/admin/openapi/types.ts'
import { isObject } from '../../../src/common/json.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

const { call } = await startTestService(t, { openStore: openInThread })
const document: OpenApi = (await call('GET', '/openapi.json', { key: null })).json
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

/** Every `$ref` of the document. */
const refsIn = function* (value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value) && '$ref' in value && typeof value.$ref === 'string') yield value.$ref
  for (const child of Object.values(value)) yield* refsIn(child)
}

t.test('the document is valid OpenAPI 3.1, and its references resolve', async (t) => {
  const validator = new Validator({ strict: false })
  const { valid, errors } = await validator.validate({ ...document })
  t.ok(valid, JSON.stringify(errors))
  t.equal(validator.version, '3.1')
  const broken = structuredClone(document)
  Object.assign(broken.paths['/tokens']!.post!, { responses: {} })
  t.notOk((await validator.validate({ ...broken })).valid, 'and the rules find what is wrong')
})

t.test('every shared response is used', async (t) => {
  const refs = new Set(refsIn(document))
  for (const name of Object.keys(document.components.responses ?? {}))
    t.ok(refs.has(`#/components/responses/${name}`), name)
})

t.test('operation ids are unique, and tags of operations are declared in the document', async (t) => {
  const ids = operations.map(({ operation }) => operation.operationId)
  t.equal(new Set(ids).size, ids.length)
  const tags = document.tags.map(({ name }) => name)
  t.equal(new Set(tags).size, tags.length)
  for (const { operation } of operations)
    t.ok(
      operation.tags.every((tag) => tags.includes(tag)),
      operation.operationId,
    )
})

t.test('paths differ by more than the names of their parameters', async (t) => {
  const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{[^}]*\}/g, '{}'))
  t.equal(new Set(shapes).size, shapes.length)
})

t.test('placeholders of a path are its required path parameters, each once', async (t) => {
  for (const { path, operation } of operations) {
    const { operationId, parameters = [] } = operation
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    t.same(
      inPath.map(({ name }) => name),
      [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name),
      operationId,
    )
    t.ok(
      inPath.every(({ required }) => required),
      `${operationId}: required`,
    )
    const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
    t.equal(new Set(keys).size, keys.length, `${operationId}: once`)
  }
})

t.test(
  'every operation declares success and error responses, and bodies only where HTTP allows them',
  async (t) => {
    for (const { method, operation } of operations) {
      const { operationId, responses, requestBody } = operation
      const statuses = Object.keys(responses)
      t.ok(
        statuses.some((status) => status.startsWith('2')),
        `${operationId}: success`,
      )
      t.ok(statuses.includes('default'), operationId)
      if (method === 'get' || method === 'delete') t.equal(requestBody, undefined, operationId)
      const none = responses['204']
      if (isObject(none)) t.notOk('content' in none, operationId)
    }
  },
)

const contentsOf = ({ parameters = [], requestBody, responses }: OpenApiOperation) => {
  const bodies = [requestBody, ...Object.values(responses)].flatMap((holder) =>
    isObject(holder) && isObject(holder.content) ? Object.values(holder.content) : [],
  )
  return [...parameters, ...bodies] as readonly Pick<
    NonNullable<OpenApiOperation['parameters']>[number],
    'schema' | 'examples'
  >[]
}

t.test('every example matches the schema beside it, in responses and in successful requests', async (t) => {
  const ajv = new Ajv2020({ strict: false })
  addFormats(ajv)
  let seen = 0
  for (const { operation } of operations) {
    const failing = new Set(
      Object.entries(operation.responses)
        .filter(([status]) => status >= '400')
        .flatMap(([, response]) => contentsOf({ responses: { response } } as never))
        .flatMap(({ examples }) => Object.keys(examples ?? {})),
    )
    for (const { schema, examples } of contentsOf(operation)) {
      const validate = ajv.compile({ ...(schema as object), components: document.components })
      const isProblem = isObject(schema) && /\/(?:Problem|ProxyError)$/.test(String(schema.$ref))
      for (const [name, { summary, value }] of Object.entries(examples ?? {})) {
        seen++
        t.ok(summary, `${operation.operationId}, ${name}: has a summary`)
        if (isProblem || !failing.has(name))
          t.ok(validate(value), `${operation.operationId}, ${name}: ${ajv.errorsText(validate.errors)}`)
      }
    }
  }
  t.ok(seen > operations.length, 'there are examples')
})

t.test('schemas of problems and of data accept their own examples', async (t) => {
  const ajv = new Ajv2020({ strict: false })
  addFormats(ajv)
  const schemas = Object.entries(document.components.schemas ?? {}).filter(([name]) =>
    /^(?:data\..*|Problem|ProxyError)$/.test(name),
  )
  t.ok(schemas.some(([name]) => name === 'data.card'))
  for (const [name, schema] of schemas) {
    const { examples } = schema as { readonly examples?: readonly unknown[] }
    t.ok(examples?.length, `${name} has examples`)
    for (const example of examples ?? []) t.ok(ajv.validate(schema as object, example), name)
  }
})
