import { isCrossOrigin } from '../../common/cross-origin.ts'
import {
  descriptionOf,
  entityOperations,
  methodOf,
  pathOf,
  pathParams,
  returnsNothing,
} from '../../kernel/check/operation.ts'
import { allows, asSchema, type JsonSchema } from '../../kernel/json-schema.ts'
import type { Registry } from '../../kernel/types.ts'
import type { Operation, TokenType } from '../../sdk/index.ts'
import { bodyExamples, type PrintedExamples, parameterExamples, responseExamples } from './examples.ts'
import { failureResponses, problemSchema, sharedResponses } from './problems.ts'
import { proxyErrorSchema, proxyPath } from './proxy.ts'
import { printedSchema } from './schema.ts'
import type { Content, OpenApi, OpenApiOperation } from './types.ts'

const contentOf = (
  schema: unknown,
  examples: { readonly examples?: PrintedExamples },
  types: readonly string[] = [],
): Content =>
  Object.fromEntries(['application/json', ...types].map((type) => [type, { schema, ...examples }]))

const parameter = (
  operation: Operation,
  name: string,
  place: 'path' | 'query',
  schema: JsonSchema,
  required: boolean,
) => ({
  name,
  in: place,
  required,
  ...(schema.description === undefined ? {} : { description: schema.description }),
  ...(place === 'query' && allows(schema, 'object') ? { style: 'deepObject', explode: true } : {}),
  schema: printedSchema(schema),
  ...parameterExamples(operation, name),
})

const decidedByCode = {
  description: "What the tenant's code decided.",
  content: { '*/*': { schema: {} } },
}

const ifMatch = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of the entity as it was read: 412 when it was changed since.',
  schema: { type: 'string' },
} as const

/** Facts of an operation that follow from the others. */
interface Facts {
  /** It heeds `If-Match`. */
  readonly isConditional: boolean
  /** Its response has an `ETag`. */
  readonly isVersioned: boolean
}

const printedOperation = (
  operation: Operation,
  { isConditional, isVersioned }: Facts,
  traceHeader: string,
): OpenApiOperation => {
  const method = methodOf(operation)
  const description = descriptionOf(operation)
  const input = asSchema(operation.input)
  const output = asSchema(operation.output)
  const path = pathParams(pathOf(operation))
  const isRequired = (name: string) => input.required?.includes(name) ?? false
  const others = Object.entries(input.properties ?? {}).filter(
    ([name]) => !path.includes(name) && name !== operation.body,
  )
  const inQuery = method === 'GET' || method === 'DELETE' || operation.body !== undefined
  const parameters = [
    ...path.map((name) => parameter(operation, name, 'path', asSchema(input.properties?.[name]), true)),
    ...(inQuery
      ? others.map(([name, schema]) => parameter(operation, name, 'query', schema, isRequired(name)))
      : []),
    ...(isConditional ? [ifMatch] : []),
  ]
  const bodySchema =
    operation.body !== undefined
      ? printedSchema(input.properties?.[operation.body])
      : !inQuery && others.length > 0
        ? {
            title: `${operation.rpc.replace('.', '')}Request`,
            type: 'object',
            required: others.map(([name]) => name).filter(isRequired),
            properties: Object.fromEntries(others.map(([name, schema]) => [name, printedSchema(schema)])),
          }
        : undefined
  const status = operation.status ?? 200
  const result = operation.responseBody ? output.properties?.[operation.responseBody] : output
  const secured = operation.permission !== 'none'
  const success = {
    description: operation.summary,
    headers: {
      [traceHeader]: { $ref: '#/components/headers/TraceId' },
      ...(status === 201 ? { Location: { required: true, schema: { type: 'string', format: 'uri' } } } : {}),
      ...(isVersioned ? { ETag: { $ref: '#/components/headers/ETag' } } : {}),
    },
    ...(returnsNothing(operation)
      ? {}
      : { content: contentOf(printedSchema(result), responseExamples(operation)) }),
  }
  return {
    operationId: operation.rpc,
    tags: [operation.rpc.split('.')[0]!],
    summary: operation.summary,
    ...(description === undefined ? {} : { description }),
    ...(operation.deprecated === undefined ? {} : { deprecated: true as const }),
    'x-permission': operation.permission,
    ...(isCrossOrigin(operation.rpc) ? { 'x-cross-origin': true as const } : {}),
    ...(secured ? {} : { security: [] as const }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(bodySchema === undefined
      ? {}
      : {
          requestBody: {
            required:
              operation.body === undefined
                ? others.some(([name]) => isRequired(name))
                : isRequired(operation.body),
            content: contentOf(
              bodySchema,
              bodyExamples(
                operation,
                others.map(([name]) => name),
              ),
              operation.consumes,
            ),
          },
        }),
    responses: {
      [status]: success,
      ...(operation.statusOf === undefined ? {} : { 202: success }),
      ...failureResponses(operation, isConditional, traceHeader),
      ...(operation.runsCode ? { '4XX': decidedByCode, '5XX': decidedByCode } : {}),
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

/** `data` of tokens by type. */
const tokenTypeSchemas = (types: Iterable<TokenType>) =>
  Object.fromEntries(
    [...types].map(({ name, title, data, examples }) => [
      `data.${name}`,
      { title, ...(printedSchema(data) as object), ...(examples && { examples }) },
    ]),
  )

/**
 * OpenAPI 3.1 of `/proxy` and of all operations and token types in the registry. `prefix` is the canonical header
 * prefix.
 */
export const openApi = (
  registry: Pick<Registry, 'operations' | 'tokenTypes'>,
  { prefix, version }: { readonly prefix: string; readonly version: string },
): OpenApi => {
  const traceHeader = `${prefix}-TRACE-ID`
  const paths: Record<string, Record<string, OpenApiOperation>> = { '/proxy': proxyPath(prefix) }
  const { changing, versioned } = entityOperations(registry.operations)
  for (const operation of registry.operations) {
    const path = pathOf(operation)
    paths[path] ??= {}
    paths[path][methodOf(operation).toLowerCase()] = printedOperation(
      operation,
      { isConditional: changing.has(operation), isVersioned: versioned.has(operation) },
      traceHeader,
    )
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sidevault',
      version,
      description:
        'Tokens instead of sensitive data: create, read, use and find them, and manage who may. ' +
        'What the data of a token holds is described by type: components.schemas, data.<type>.',
    },
    servers: [{ url: '/' }],
    tags: [...new Set(['Proxy', ...registry.operations.map(({ rpc }) => rpc.split('.')[0]!)])]
      .sort()
      .map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: `${prefix}-API-KEY` } },
      headers: {
        TraceId: {
          description: 'The trace id sent, or one made for this call.',
          required: true,
          schema: { type: 'string' },
        },
        ETag: {
          description: 'The stored version, for `If-Match` of a change. Repeated responses have none.',
          schema: { type: 'string' },
        },
      },
      schemas: {
        Problem: problemSchema,
        ProxyError: proxyErrorSchema,
        ...tokenTypeSchemas(registry.tokenTypes.values()),
      },
      responses: sharedResponses(registry.operations, changing, traceHeader),
    },
    security: [{ ApiKey: [] }],
  }
}
