/** `/proxy` in the document. The gateway serves it, so that no operation declares it (interface, "Ephemeral proxy"). */
import { AppError } from '../../common/errors.ts'
import { problemSchema } from './problems.ts'
import type { OpenApiOperation } from './types.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
const TOKEN = '{{ 9a2d7c31-0f4b-4e8a-b6d5-1c3e5f7a9b20 | json: "$.number" }}'

/** The failure of the proxy itself, never the destination's (completions §2). */
export const proxyErrorSchema = {
  type: 'object',
  required: ['proxy_error'],
  properties: { proxy_error: problemSchema },
  examples: [
    {
      proxy_error: new AppError('invalid_expression', 'The filter "lastfour" does not exist.').toProblem(),
    },
  ],
}

const header = (name: string, description: string) => ({
  name,
  in: 'header' as const,
  required: false,
  description,
  schema: { type: 'string' },
})

const anything = { '*/*': { schema: {} } }

const failure = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/ProxyError' } } },
})

const requestBody = {
  required: false,
  content: {
    'application/json': {
      schema: {},
      examples: { 'a-card-number': { summary: 'A card number', value: { card: TOKEN, amount: 1999 } } },
    },
    'application/x-www-form-urlencoded': { schema: {} },
    ...anything,
  },
}

const operation = (method: string, prefix: string): OpenApiOperation => ({
  operationId: `Proxy.${method[0]?.toUpperCase()}${method.slice(1)}`,
  tags: ['Proxy'],
  summary: `Send a ${method.toUpperCase()} request to a destination, with values in place of tokens`,
  description:
    'Path and query after /proxy are joined to the destination. Expressions in JSON strings, form fields and text are ' +
    "replaced under the caller's token:use; everything else is forwarded unchanged, and the destination's response is returned " +
    'unchanged.',
  'x-permission': 'token:use',
  parameters: [
    header(`${prefix}-PROXY-URL`, 'Base URL of the destination.'),
    header(`${prefix}-PROXY-KEY`, 'Key of a stored proxy, in place of a URL.'),
    header(
      `${prefix}-PROXY-EVALUATE`,
      'Where expressions are evaluated in a request without a stored proxy: "body", "path", "header:<name>", "query:<name>", separated by commas. Default: body.',
    ),
    header(
      `${prefix}-PROXY-STREAM`,
      '"true": a large body is forwarded while it arrives, with its tokens replaced; a later failure resets the request. Not for compressed bodies, nor for proxies with transforms or client certificates.',
    ),
  ],
  // Bodies of others are forwarded too, though HTTP gives them no meaning (RFC 9110 §9.3).
  ...(method === 'get' || method === 'delete' ? {} : { requestBody }),
  responses: {
    '2XX': {
      description: "The destination's response.",
      headers: {
        [`${prefix}-TRACE-ID`]: { $ref: '#/components/headers/TraceId' },
        [`${prefix}-PROXY-DESTINATION-STATUS`]: {
          description: "The destination's status; absent when the proxy itself responds.",
          schema: { type: 'string' },
        },
      },
      content: anything,
    },
    '4XX': failure("The destination's response, or the proxy's own rejection."),
    '5XX': failure(
      "The destination's response, or a failure of the proxy or of the connection to the destination.",
    ),
    default: { description: "The destination's response.", content: anything },
  },
})

/** The path item of `/proxy`; paths below it are accepted too. */
export const proxyPath = (prefix: string) =>
  Object.fromEntries(METHODS.map((method) => [method, operation(method, prefix)]))
