import { defineOperation, type Json, type PluginContext, Type } from '#sdk'
import * as examples from './examples.ts'
import { useContextOf } from './use-context.ts'

const AnyBody = Type.Object({ body: Type.Unknown({ field: 1 }) })
const AnyResult = Type.Object({ result: Type.Unknown({ field: 1 }) })

/** Operations whose request and response are any JSON of one shape. */
export const bulkOperations = (context: PluginContext) => [
  defineOperation({
    rpc: 'Tokens.Tokenize',
    http: 'POST /tokenize',
    summary: 'Replace the strings and token definitions of any JSON by tokens, all or none',
    permission: 'token:create',
    audit: 'none',
    input: AnyBody,
    body: 'body',
    output: AnyResult,
    responseBody: 'result',
    examples: examples.tokenize,
    run: async ({ body }, call) => ({
      result: await context.vault.tokenize(body as Json, useContextOf(call)),
    }),
  }),
  defineOperation({
    rpc: 'Tokens.Detokenize',
    http: 'POST /detokenize',
    summary: 'Replace the expressions of any JSON by the data of their tokens',
    permission: 'token:read',
    audit: 'none',
    input: AnyBody,
    body: 'body',
    output: AnyResult,
    responseBody: 'result',
    errors: ['unprocessable'],
    examples: examples.detokenize,
    run: async ({ body }, call) => ({
      result: await context.vault.detokenize(body as Json, useContextOf(call)),
    }),
  }),
]
