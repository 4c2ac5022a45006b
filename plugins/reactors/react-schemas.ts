import { nullable, Type } from '#sdk'

/** Body of an invocation. */
export const ReactInput = Type.Object({
  id: Type.String({ field: 1 }),
  args: Type.Optional(Type.Unknown({ field: 2, description: 'Any JSON; its expressions are detokenized.' })),
  callback_url: nullable(
    3,
    Type.String({ minLength: 1, maxLength: 400, description: 'URL that the result is posted to.' }),
  ),
  timeout_ms: nullable(
    4,
    Type.Integer({ minimum: 1, maximum: 600_000, description: 'At most 30,000 count.' }),
  ),
})

const result = {
  tokens: Type.Optional(
    Type.Unknown({ field: 1, description: 'The tokens of the value that the code returned as `tokenize`.' }),
  ),
  raw: Type.Optional(Type.Unknown({ field: 2 })),
}

/** `asyncReactorRequestId`: the result is pending. */
export const ReactOutput = Type.Object(
  { ...result, asyncReactorRequestId: Type.Optional(Type.String({ field: 3 })) },
  { title: 'ReactorResult' },
)

export const ReactAsyncOutput = Type.Object(
  { asyncReactorRequestId: Type.String({ field: 1 }) },
  { title: 'AsyncReactorRequest' },
)

export const ResultInput = Type.Object({
  id: Type.String({ field: 1 }),
  request_id: Type.String({ field: 2 }),
})

/** `error`: the problem of a failed invocation. */
export const ResultOutput = Type.Object(
  {
    ...result,
    error: Type.Optional(
      Type.Object(
        {
          title: Type.String({ field: 1 }),
          status: Type.Integer({ field: 2 }),
          detail: Type.String({ field: 3 }),
          type: Type.String({ field: 4 }),
          code: Type.String({ field: 5 }),
        },
        { title: 'ReactorFailure', field: 3 },
      ),
    ),
  },
  { title: 'AsyncReactorResult' },
)
