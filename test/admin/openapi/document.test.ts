import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import t from 'tap'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { thingsPlugin } from '../kit.ts'

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

const setUp = async (
  t: Parameters<typeof startTestService>[0],
  plugins: Parameters<typeof startTestService>[1] = {},
) => {
  const { call } = await startTestService(t, plugins)
  const response = await call('GET', '/openapi.json', { key: null })
  t.equal(response.status, 200)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  return response.json
}

let document: ReturnType<typeof setUp> | undefined

/** The document of the whole service. */
const whole = () => {
  document ??= setUp(t, { openStore: openInThread })
  return document
}

const escaped = (name: string) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

/** Every object inside a document with its path, as a JSON pointer in a URL. */
const objects = function* (value: unknown, path = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return
  yield [path, value as Record<string, unknown>]
  for (const [name, child] of Object.entries(value)) yield* objects(child, `${path}/${escaped(name)}`)
}

t.test('each operation is printed with its parameters, bodies, responses and security', async (t) => {
  const document = await setUp(t, {
    openStore: openInThread,
    plugins: [thingsPlugin()],
    admin: { prefixes: ['ACME', 'SVC'], version: '1.2.3' },
  })
  t.match(document, {
    openapi: '3.1.1',
    info: { title: 'Sidevault', version: '1.2.3' },
    security: [{ ApiKey: [] }],
    tags: [{ name: 'Proxy' }, { name: 'Secret' }, { name: 'Things' }],
  })
  t.strictSame(Object.keys(document.paths['/proxy']).sort(), ['delete', 'get', 'patch', 'post', 'put'])
  t.match(document.paths['/proxy'].post, {
    parameters: [
      { in: 'header', name: 'ACME-PROXY-URL' },
      { in: 'header', name: 'ACME-PROXY-KEY' },
    ],
    responses: { '4XX': { content: { 'application/json': { schema: { $ref: /ProxyError$/ } } } } },
  })
  t.strictSame(document.components.securitySchemes.ApiKey, {
    type: 'apiKey',
    in: 'header',
    name: 'ACME-API-KEY',
  })
  const { post, get } = document.paths['/things']
  t.match(post, { operationId: 'Things.Create', tags: ['Things'], 'x-permission': 'none', security: [] })
  t.strictSame(post.requestBody.content['application/json'].schema, {
    $ref: '#/components/schemas/ThingsCreateRequest',
  })
  t.strictSame(document.components.schemas.ThingsCreateRequest, {
    title: 'ThingsCreateRequest',
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', maxLength: 5 },
      parts: {
        type: 'array',
        items: { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } },
      },
      free: {},
    },
  })
  t.match(post.responses['201'].headers, { Location: {}, 'ACME-TRACE-ID': {} })
  t.match(get.parameters, [
    { name: 'page', in: 'query', required: false, schema: { type: 'integer', minimum: 1, default: 1 } },
    { name: 'ids', in: 'query', schema: { type: 'array' } },
    { name: 'flag' },
    { name: 'metadata', style: 'deepObject', explode: true },
    { name: 'name' },
  ])
  const { patch, delete: remove } = document.paths['/things/{id}']
  t.same(Object.keys(patch.requestBody.content), ['application/json', 'application/merge-patch+json'])
  t.match(patch.parameters, [{ name: 'id', in: 'path', required: true }])
  t.equal(remove.responses['204'].content, undefined)
  t.equal(remove.requestBody, undefined)
  const whole = document.paths['/whole'].post
  t.strictSame(whole.requestBody, { required: true, content: { 'application/json': { schema: {} } } })
  t.match(whole.parameters, [{ name: 'dry', in: 'query' }])
  const use = document.paths['/secrets/{id}/use'].post
  t.equal(use.security, undefined)
  t.equal(use['x-permission'], 'secret:use')
  for (const status of ['400', '401', '403', '404', 'default']) t.ok(use.responses[status]?.$ref, status)
})

t.test('the document of the whole service is consistent', async (t) => {
  const document = await whole()
  const ids: string[] = []
  for (const [path, object] of objects(document)) {
    t.notOk('field' in object && typeof object.field === 'number', `${path} shows a proto field number`)
    if (typeof object.$ref === 'string') {
      const target = object.$ref
        .slice(2)
        .split('/')
        .reduce((value: never, part: string) => value?.[part], document as never)
      t.ok(target, `${path} refers to ${object.$ref}, which exists`)
    }
    if (typeof object.operationId === 'string') ids.push(object.operationId)
  }
  t.equal(new Set(ids).size, ids.length, 'operation ids are unique')
  t.ok(ids.length > 10)
})

t.test('every schema in it compiles as JSON Schema 2020-12', async (t) => {
  const document = await whole()
  const ajv = new Ajv2020({ strict: false })
  addFormats(ajv)
  ajv.addSchema(document, 'document')
  const compiles = (pointer: string) =>
    t.doesNotThrow(() => ajv.compile({ $ref: `document#${pointer}` }), pointer)
  for (const [path] of objects(document.paths, '/paths')) if (path.endsWith('/schema')) compiles(path)
  for (const name of Object.keys(document.components.schemas)) compiles(`/components/schemas/${name}`)
})
