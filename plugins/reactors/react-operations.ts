import { checkDestination } from '#kit'
import { type Call, defineOperation, type Json, type PluginContext, type Static } from '#sdk'
import type { BackgroundRequests } from './async-invocations.ts'
import * as examples from './examples.ts'
import type { React } from './react.ts'
import { ReactAsyncOutput, ReactInput, ReactOutput, ResultInput, ResultOutput } from './react-schemas.ts'

const audit = {
  entity: 'reactor',
  verb: 'use',
  message: 'Reactor invoked',
  id: (_call: Call, input: unknown) => (input as { readonly id: string }).id,
} as const

type Input = Static<typeof ReactInput>

/** Invoking reactors (completions §8). */
export const reactOperations = (context: PluginContext, react: React, requests: BackgroundRequests) => {
  const prepare = ({ id, args }: Input, call: Call) => react.prepare(id, (args ?? {}) as Json, call)

  const begin = async (input: Input, call: Call): Promise<{ asyncReactorRequestId: string }> => {
    const { timeout_ms, callback_url } = input
    if (typeof callback_url === 'string') checkDestination(context, 'callback_url', callback_url)
    const prepared = await prepare(input, call)
    const options = { wallMs: timeout_ms ?? undefined, callbackUrl: callback_url ?? undefined }
    return { asyncReactorRequestId: await requests.begin(prepared, call, options) }
  }

  return [
    defineOperation({
      rpc: 'Reactors.React',
      http: 'POST /reactors/{id}/react',
      summary: 'Invoke a reactor',
      description:
        'Expressions of `args` are detokenized. With `callback_url` the result is posted there, signed with the ' +
        "reactor's `callback_key`, and the response is 202.",
      permission: 'token:use',
      audit,
      input: ReactInput,
      output: ReactOutput,
      runsCode: true,
      transient: ['raw'],
      errors: ['unprocessable'],
      examples: examples.react,
      statusOf: ({ asyncReactorRequestId }) => (asyncReactorRequestId === undefined ? 200 : 202),
      run: async (input, call) => {
        if (typeof input.callback_url === 'string') return begin(input, call)
        const prepared = await prepare(input, call)
        const { traceId, caller, signal, depth, used, code } = call
        const wallMs = input.timeout_ms ?? undefined
        return react.run(prepared, { traceId, caller, signal, depth, used, code, wallMs })
      },
    }),
    defineOperation({
      rpc: 'Reactors.ReactAsync',
      http: 'POST /reactors/{id}/react-async',
      summary: 'Invoke a reactor in the background',
      permission: 'token:use',
      audit,
      input: ReactInput,
      output: ReactAsyncOutput,
      status: 202,
      examples: examples.reactAsync,
      run: begin,
    }),
    defineOperation({
      rpc: 'Reactors.GetResult',
      http: 'GET /reactors/{id}/results/{request_id}',
      summary: 'Get the result of an invocation in the background',
      description:
        '404 until there is one. Retained for 15 minutes for the calling application, and returned once.',
      permission: 'token:use',
      audit: 'none',
      singleRead: true,
      input: ResultInput,
      output: ResultOutput,
      examples: examples.getResult,
      run: ({ id, request_id }, call) => requests.result(call, id, request_id),
    }),
  ]
}
