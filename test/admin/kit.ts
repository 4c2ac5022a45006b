import { Type } from 'typebox'
import { AppError, type Call, defineOperation, type Operation, type Plugin } from '../../src/sdk/index.ts'

const id = Type.String({ field: 1 })

const Echo = Type.Object({ input: Type.Unknown({ field: 1 }) })

/** Returns its input as it reached the operation. */
const echo = async (input: unknown) => ({ input })

const open = { permission: 'none', audit: 'none', summary: 'Echo', output: Echo, run: echo } as const

/** Reports to a test that `Things.Wait` runs, with its signal, and blocks it until the test releases it. */
export const gate = () => {
  const entered = Promise.withResolvers<AbortSignal>()
  const left = Promise.withResolvers<void>()
  return { entered: entered.promise, left: left.promise, enter: entered.resolve, leave: left.resolve }
}

/** Operations for each trait of the transport. */
export const thingsPlugin = (held = gate()): Plugin => {
  const operations: Operation[] = [
    defineOperation({
      ...open,
      rpc: 'Things.Create',
      http: 'POST /things',
      status: 201,
      location: () => '/things/a%20b',
      input: Type.Object({
        name: Type.String({ field: 1, maxLength: 5 }),
        parts: Type.Optional(Type.Array(Type.Object({ size: Type.Integer({ field: 1 }) }), { field: 2 })),
        free: Type.Optional(Type.Unknown({ field: 3 })),
      }),
    }),
    defineOperation({
      ...open,
      rpc: 'Things.List',
      http: 'GET /things',
      input: Type.Object({
        page: Type.Optional(Type.Integer({ minimum: 1, default: 1, field: 1 })),
        ids: Type.Optional(Type.Array(Type.String(), { field: 2 })),
        flag: Type.Optional(Type.Boolean({ field: 3 })),
        metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { field: 4 })),
        name: Type.Optional(Type.String({ field: 5 })),
      }),
    }),
    defineOperation({
      ...open,
      rpc: 'Things.First',
      http: 'POST /things/first',
      input: Type.Object({}),
    }),
    defineOperation({ ...open, rpc: 'Things.Get', http: 'GET /things/{id}', input: Type.Object({ id }) }),
    defineOperation({
      ...open,
      rpc: 'Things.Patch',
      http: 'PATCH /things/{id}',
      consumes: ['application/merge-patch+json'],
      input: Type.Object({ id, name: Type.Optional(Type.String({ field: 2 })) }),
    }),
    defineOperation({
      ...open,
      rpc: 'Things.Delete',
      http: 'DELETE /things/{id}',
      status: 204,
      input: Type.Object({ id }),
      output: Type.Object({}),
      run: async () => ({}),
    }),
    defineOperation({
      ...open,
      rpc: 'Things.Link',
      http: 'POST /things/{id}/links/{n}',
      input: Type.Object({ id, n: Type.Integer({ field: 2 }) }),
    }),
    defineOperation({
      ...open,
      rpc: 'Things.Whole',
      http: 'POST /whole',
      body: 'value',
      responseBody: 'input',
      input: Type.Object({
        value: Type.Unknown({ field: 1 }),
        dry: Type.Optional(Type.Boolean({ field: 2 })),
      }),
    }),
    defineOperation({
      ...open,
      rpc: 'Things.Strict',
      http: 'POST /strict',
      body: 'value',
      input: Type.Object({ value: Type.Object({ number: Type.String({ field: 1 }) }, { field: 1 }) }),
    }),
    defineOperation({
      ...open,
      rpc: 'Things.Fail',
      http: 'GET /fail/{code}',
      input: Type.Object({ code: Type.String({ field: 1 }) }),
      run: async ({ code }) => {
        if (code === 'rate_limited') throw new AppError('rate_limited', 'Wait.', { retryAfter: 1.2 })
        throw new Error('the number 4242424242424242')
      },
    }),
    defineOperation({
      ...open,
      rpc: 'Things.Wait',
      http: 'GET /wait',
      input: Type.Object({}),
      run: async (_input: unknown, call: Call) => {
        held.enter(call.signal)
        // A call that was aborted ends too.
        await Promise.race([
          held.left,
          new Promise((resolve) => call.signal.addEventListener('abort', resolve)),
        ])
        return { input: 'waited' }
      },
    }),
    defineOperation({
      ...open,
      rpc: 'Secret.Create',
      http: 'POST /secrets',
      permission: 'any key',
      input: Type.Object({ name: Type.String({ field: 1 }) }),
    }),
    defineOperation({
      ...open,
      rpc: 'Secret.Use',
      http: 'POST /secrets/{id}/use',
      permission: 'secret:use',
      audit: { entity: 'secret', verb: 'use' },
      input: Type.Object({ id }),
    }),
  ] as unknown as Operation[]
  return {
    api: 1,
    name: 'things',
    version: '1.0.0',
    setup: () => ({
      operations,
      permissions: [{ type: 'secret:use', description: 'Use secrets', application_types: ['private'] }],
      ports: {
        credentials: {
          collections: [],
          authenticate: async () => ({
            caller: {
              tenantId: 'tenant-1',
              actorId: 'app-1',
              actorType: 'application',
              grants: { permissions: [], rules: [] },
            },
          }),
          install: async () => {},
        },
      },
    }),
  }
}

/** A problem that names these property paths. */
export const invalidAt = (...paths: string[]) => ({
  code: 'invalid',
  status: 400,
  errors: Object.fromEntries(paths.map((path) => [path, Array])),
})
