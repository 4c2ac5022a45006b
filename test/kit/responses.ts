import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import type { OpenApi, OpenApiOperation } from '../../src/admin/openapi/types.ts'
import { isObject } from '../../src/common/json.ts'

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

/** A schema that rejects members which it does not name, wherever it names any. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (!isObject(schema)) return schema
  const own = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === 'properties'
        ? Object.fromEntries(
            Object.entries(value as object).map(([member, child]) => [member, closed(child)]),
          )
        : closed(value),
    ]),
  )
  return 'properties' in own && !('additionalProperties' in own)
    ? { ...own, additionalProperties: false }
    : own
}

interface GivenResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** Statuses that a path or method without an operation has. */
const NO_OPERATION = [404, 405]

/**
 * Checks responses against an OpenAPI document: the status is one that the operation names, with its content
 * type, headers and body, and no member that the document does not name; and that a body which was accepted is one that
 * the document allows. Throws an AssertionError otherwise.
 */
export const createResponseCheck = (document: OpenApi) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats(ajv)
  const compiled = new Map<unknown, ValidateFunction>()
  const resolved = (value: unknown): Record<string, unknown> => {
    if (!isObject(value)) return {}
    if (typeof value.$ref !== 'string') return value
    const parts = value.$ref.slice('#/'.length).split('/')
    return resolved(parts.reduce<unknown>((at, part) => (isObject(at) ? at[part] : undefined), document))
  }
  const compiledOnce = (schema: unknown, make: () => unknown): ValidateFunction => {
    const validator = compiled.get(schema) ?? ajv.compile(make() as object)
    compiled.set(schema, validator)
    return validator
  }
  const responseValidator = (schema: unknown) => compiledOnce(schema, () => closed(resolved(schema)))
  /** Unknown members of a request are ignored (completions §1). */
  const bodyValidator = (schema: unknown) => compiledOnce(schema, () => schema)
  const routes = Object.entries(document.paths)
    .map(([path, methods]) => ({
      pattern: new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{[^}]*\}/g, '[^/]+')}/?$`),
      params: path.split('{').length - 1,
      methods,
    }))
    .sort((a, b) => a.params - b.params)

  const operationOf = (method: string, target: string): OpenApiOperation | undefined => {
    const path = target.split('?', 1)[0]!
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
    return routes.find(({ pattern, methods }) => pattern.test(path) && methods[wanted])?.methods[wanted]
  }

  const checkSent = ({ operationId, requestBody }: OpenApiOperation, body: unknown) => {
    const schema = requestBody?.content['application/json']?.schema
    if (schema === undefined || body === undefined) return
    const validate = bodyValidator(schema)
    assert.ok(
      validate(body),
      `${operationId} accepted what is not documented: ${ajv.errorsText(validate.errors)}`,
    )
  }

  return (method: string, target: string, { status, headers, text }: GivenResponse, sent?: unknown): void => {
    const operation = operationOf(method, target)
    if (operation && status < 300) checkSent(operation, sent)
    const place = `${operation?.operationId ?? `${method} ${target.split('?', 1)[0]}`} returned ${status}`
    if (operation === undefined)
      assert.ok(NO_OPERATION.includes(status), `${place}, and no operation is documented there`)
    const declared = operation?.responses[status] ?? operation?.responses[`${Math.floor(status / 100)}XX`]
    const response = resolved(declared ?? document.components.responses?.Error)
    if (operation && status < 500) assert.ok(declared, `${place}, which is not documented`)
    for (const [name, header] of Object.entries(isObject(response.headers) ? response.headers : {}))
      if (resolved(header).required)
        assert.ok(headers[name.toLowerCase()], `${place} without the header ${name}`)
    const content = isObject(response.content) ? response.content : undefined
    if (content === undefined || method === 'HEAD') {
      assert.equal(text, '', `${place} with a body, and none is documented`)
      return
    }
    if ('*/*' in content) return
    assert.equal(headers['content-type'], 'application/json; charset=utf-8', place)
    const validate = responseValidator(resolved(content['application/json']).schema)
    assert.ok(
      validate(JSON.parse(text)),
      `${place} otherwise than documented: ${ajv.errorsText(validate.errors)}`,
    )
  }
}
