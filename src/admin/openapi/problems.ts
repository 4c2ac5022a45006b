import { AppError, ERRORS, type ErrorCode, invalid } from '../../common/errors.ts'
import { methodOf, pathOf, pathParams } from '../../kernel/check/operation.ts'
import { asSchema } from '../../kernel/json-schema.ts'
import type { Operation } from '../../sdk/index.ts'
import { failureExamples } from './examples.ts'

/** The error body of all responses from 400 up (completions §2). */
export const problemSchema = {
  type: 'object',
  required: ['type', 'code', 'title', 'status', 'detail'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'Where the service documents the code.' },
    code: { type: 'string', description: 'Stable name of the error, for programs. /docs/errors lists all.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    errors: {
      type: 'object',
      description: 'Sentences by property path, e.g. data.number.',
      additionalProperties: { type: 'array', items: { type: 'string' } },
    },
  },
  examples: [
    new AppError(
      'application_not_found',
      'Application "d7c8b0f2-53a1-4c57-9a0e-6e1f4b2c8d90" does not exist.',
    ).toProblem(),
    invalid({ 'data.number': ['must pass the Luhn check'] }).toProblem(),
  ],
}

/** How an operation may fail, the commonest code of each status first. */
const failureCodes = (operation: Operation, isConditional: boolean): readonly ErrorCode[] => {
  const method = methodOf(operation)
  const members = Object.keys(asSchema(operation.input).properties ?? {})
  const params = pathParams(pathOf(operation))
  const bodiless = method === 'GET' || method === 'DELETE'
  const takesBody = operation.body !== undefined || (!bodiless && members.length > params.length)
  return [
    ...(members.length > 0 ? (['invalid'] as const) : []),
    ...(operation.permission === 'none' ? [] : (['unauthenticated', 'forbidden'] as const)),
    ...(params.length > 0 ? (['not_found'] as const) : []),
    // An idempotency key in flight.
    ...(bodiless ? [] : (['conflict'] as const)),
    ...(isConditional ? (['precondition_failed'] as const) : []),
    ...(takesBody ? (['too_large', 'unsupported_media_type'] as const) : []),
    ...(operation.errors ?? []),
    'rate_limited',
  ]
}

const responseName = (code: ErrorCode) => ERRORS[code].title.replaceAll(/\s/g, '')

const errorResponse = (description: string, traceHeader: string, examples?: object) => ({
  description,
  headers: { [traceHeader]: { $ref: '#/components/headers/TraceId' } },
  content: {
    'application/json': { schema: { $ref: '#/components/schemas/Problem' }, ...(examples && { examples }) },
  },
})

/**
 * `components.responses`: one for each code by which an operation may fail, and `Error` for any other failure.
 * `conditional`: operations that heed `If-Match`.
 */
export const sharedResponses = (
  operations: readonly Operation[],
  conditional: ReadonlySet<Operation>,
  traceHeader: string,
) => {
  const codes = [
    ...new Set(operations.flatMap((operation) => failureCodes(operation, conditional.has(operation)))),
  ]
  return {
    Error: errorResponse('Any other failure', traceHeader),
    ...Object.fromEntries(
      codes.map((code) => [responseName(code), errorResponse(ERRORS[code].title, traceHeader)]),
    ),
  }
}

/** The failures of one operation by status: a shared response, or one with the operation's own examples. */
export const failureResponses = (
  operation: Operation,
  isConditional: boolean,
  traceHeader: string,
): Readonly<Record<string, unknown>> => {
  const responses = new Map<number, unknown>()
  for (const [status, { title, examples }] of failureExamples(operation))
    responses.set(status, errorResponse(title, traceHeader, examples))
  for (const code of failureCodes(operation, isConditional))
    if (!responses.has(ERRORS[code].status))
      responses.set(ERRORS[code].status, { $ref: `#/components/responses/${responseName(code)}` })
  return Object.fromEntries(responses)
}
