import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { AuditRecord, Journal } from '../../../src/audit/types.ts'
import { AppError } from '../../../src/common/errors.ts'
import type { Log } from '../../../src/common/log.ts'
import { createLog } from '../../../src/common/log.ts'
import type { Identified } from '../../../src/kernel/types.ts'
import type { Call, Credential, Operation, Plugin } from '../../../src/sdk/index.ts'
import { type ServiceOptions, startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { operationOf } from '../kit.ts'

const application = (permissions: readonly string[]): Credential['caller'] => ({
  tenantId: 'tenant-1',
  actorId: 'app-1',
  actorType: 'application',
  grants: { permissions, rules: [] },
})

const input = Type.Object({
  id: Type.String({ field: 1, maxLength: 40 }),
  count: Type.Optional(Type.Integer({ field: 2, default: 7 })),
})

/** Operations of one plugin, with a caller who holds `thing:read` for every key. */
const setUp = async (
  t: Test,
  operations: readonly Operation[],
  options: ServiceOptions & { permissions?: readonly string[] } = {},
) => {
  let service: Awaited<ReturnType<typeof startTestService>> | undefined
  const plugin: Plugin = {
    api: 1,
    name: 'things',
    version: '1.0.0',
    setup: () => ({
      operations,
      permissions: ['thing:read', 'token:read'].map((type) => ({
        type,
        description: 'Read',
        application_types: ['private'] as const,
      })),
      ports: {
        credentials: {
          collections: [],
          authenticate: async (hash) =>
            hash === service?.keys.mac('api-key', 'key_good')
              ? { caller: application(options.permissions ?? ['thing:read']) }
              : undefined,
          install: async () => {},
        },
      },
    }),
  }
  const appended: AuditRecord[][] = []
  service = await startTestService(t, {
    openStore: openInThread,
    ...options,
    plugins: [plugin],
    journal: (real) => {
      const inner = options.journal?.(real) ?? real
      return {
        append: async (records) => {
          await inner.append(records)
          appended.push([...records])
        },
        health: () => inner.health(),
        close: () => inner.close(),
      }
    },
  })
  const { kernel } = service
  const invoke = (
    operation: Operation,
    input: unknown,
    {
      key = 'key_good',
      signal = new AbortController().signal,
      identified,
    }: { key?: string | null; signal?: AbortSignal; identified?: Identified } = {},
  ) => kernel.invoke(operation, input, { key: key ?? undefined, traceId: 'trace-1', signal, identified })
  return { service, invoke, appended }
}

t.test('an operation gets its pruned and validated input, and returns its declared output', async (t) => {
  let seen: { input: unknown; call: Call } | undefined
  const operation = operationOf({
    permission: 'thing:read',
    input,
    output: Type.Object({ id: Type.String({ field: 1 }), note: Type.Optional(Type.String({ field: 2 })) }),
    run: async (input: unknown, call: Call) => {
      seen = { input, call }
      return { id: '1', note: undefined, hash: 'never to be shown' }
    },
  })
  const { invoke, service, appended } = await setUp(t, [operation])
  const output = await invoke(operation, { id: 'x', unknown: 1 })
  t.strictSame(output, { id: '1' })
  t.strictSame(seen?.input, { id: 'x', count: 7 })
  t.match(seen?.call, { traceId: 'trace-1', now: service.clock.now(), caller: { tenantId: 'tenant-1' } })
  t.same(appended, [], 'an operation without audit leaves no record')
})

t.test('authentication comes before validation, validation before authorization', async (t) => {
  const operation = operationOf({ permission: 'thing:read', input })
  const { invoke } = await setUp(t, [operation], { permissions: [] })
  await t.rejects(invoke(operation, {}, { key: null }), { code: 'unauthenticated' })
  await t.rejects(invoke(operation, {}, { key: 'key_bad' }), { code: 'unauthenticated' })
  await t.rejects(invoke(operation, {}), { code: 'invalid', errors: { id: ['is required'] } })
  await t.rejects(invoke(operation, { id: 'x' }), { code: 'forbidden' })
})

t.test('an operation that validates its own input gets it pruned, unless the call is denied', async (t) => {
  const inputs: unknown[] = []
  const operation = operationOf({
    permission: 'thing:read',
    input,
    validatedBy: 'run',
    run: async (given: unknown) => {
      inputs.push(given)
      return {}
    },
  })
  const { invoke } = await setUp(t, [operation])
  await invoke(operation, { id: 7, unknown: 1 })
  t.strictSame(inputs, [{ id: 7 }])
  const denied = await setUp(t, [operation], { permissions: [] })
  await t.rejects(denied.invoke(operation, { id: 7 }), {
    code: 'invalid',
    errors: { id: ['must be a string'] },
  })
  t.equal(inputs.length, 1)
})

t.test('a key that a transport has authenticated is looked up again after a second', async (t) => {
  const operation = operationOf({ permission: 'thing:read', input })
  const { invoke } = await setUp(t, [operation], { permissions: [] })
  const caller = application(['thing:read'])
  const now = { caller, at: Number.POSITIVE_INFINITY }
  const longAgo = { caller, at: 0 - 10 * 60_000 }
  t.ok(await invoke(operation, { id: 'x' }, { identified: now }), 'with the grants found then')
  await t.rejects(invoke(operation, { id: 'x' }, { identified: longAgo }), { code: 'forbidden' })
  const revoked = { key: 'key_revoked', identified: longAgo }
  await t.rejects(invoke(operation, { id: 'x' }, revoked), { code: 'unauthenticated' })
})

t.test('public operations run without a key, anonymously', async (t) => {
  let caller: unknown
  const operation = operationOf({
    permission: 'none',
    run: async (_input: unknown, call: Call) => {
      caller = call.caller
      return { id: '1' }
    },
  })
  const { invoke } = await setUp(t, [operation])
  await invoke(operation, { id: '1' }, { key: null })
  t.match(caller, { actorType: 'anonymous', tenantId: '', grants: { permissions: [], rules: [] } })
})

t.test('an audited operation writes its record before it responds', async (t) => {
  const audit = { entity: 'thing', verb: 'create' }
  const byOutput = operationOf({
    rpc: 'Things.A',
    http: 'POST /a',
    audit,
    run: async () => ({ id: 'made' }),
    input,
  })
  const byInput = operationOf({
    rpc: 'Things.B',
    http: 'DELETE /b/{id}',
    audit: { entity: 'thing_part', verb: 'delete' },
    status: 204,
    output: Type.Object({}),
    run: async () => ({}),
  })
  const own = operationOf({
    rpc: 'Things.C',
    http: 'POST /c',
    audit: { ...audit, message: 'Made by hand' },
    responseBody: 'thing',
    input: Type.Object({}),
    output: Type.Object({ thing: Type.Object({ id: Type.String({ field: 1 }) }, { field: 1 }) }),
    run: async () => ({ thing: { id: 'inside' } }),
  })
  const { invoke, appended, service } = await setUp(t, [byOutput, byInput, own])
  await invoke(byOutput, { id: 'asked' })
  await invoke(byInput, { id: 'gone' })
  await invoke(own, {})
  const common = {
    tenant_id: 'tenant-1',
    actor_id: 'app-1',
    actor_type: 'application',
    trace_id: 'trace-1',
    created_at: service.clock.now(),
  }
  t.strictSame(appended.flat(), [
    { ...common, entity_type: 'thing', entity_id: 'made', operation: 'create', message: 'Thing created' },
    {
      ...common,
      entity_type: 'thing_part',
      entity_id: 'gone',
      operation: 'delete',
      message: 'Thing part deleted',
    },
    { ...common, entity_type: 'thing', entity_id: 'inside', operation: 'create', message: 'Made by hand' },
  ])
})

/** A journal that fails on command. */
const failing = () => {
  const state = { healthy: true, writes: true }
  const error = () => new AppError('gateway_timeout', 'The journal cannot be written.')
  const journal = (real: Journal): Journal => ({
    append: async (records) => {
      if (!state.writes) throw error()
      await real.append(records)
    },
    health: async () => {
      if (!state.healthy) throw error()
    },
    close: () => real.close(),
  })
  return { state, journal }
}

t.test(
  'audited operations do not run while the journal fails; if it fails later, nothing is returned',
  async (t) => {
    let runs = 0
    const operation = operationOf({
      audit: { entity: 'thing', verb: 'update' },
      run: async () => {
        runs++
        return { id: '1' }
      },
    })
    const { state, journal } = failing()
    const { invoke } = await setUp(t, [operation], { journal })
    state.healthy = false
    await t.rejects(invoke(operation, { id: '1' }), { code: 'gateway_timeout' })
    t.equal(runs, 0)
    state.healthy = true
    state.writes = false
    await t.rejects(invoke(operation, { id: '1' }), { code: 'gateway_timeout' })
    t.equal(runs, 1)
  },
)

t.test('a call without the permission is recorded as denied, also when it is not audited', async (t) => {
  const audited = operationOf({ permission: 'thing:read', audit: { entity: 'thing', verb: 'read' } })
  const plain = operationOf({ rpc: 'Things.P', http: 'GET /p/{id}', permission: 'token:read' })
  const { invoke, appended } = await setUp(t, [audited, plain], { permissions: [] })
  const id = '7a2c4e68-9b1d-4f35-a806-c3e5f7d9b124'
  await t.rejects(invoke(audited, { id }), { code: 'forbidden' })
  await t.rejects(invoke(plain, { id: '4242424242424242' }), { code: 'forbidden' })
  t.match(appended.flat(), [
    {
      entity_type: 'thing',
      entity_id: id,
      operation: 'read',
      message: 'Denied: Thing read',
      actor_id: 'app-1',
    },
    // this id was not looked up: it may be anything
    { entity_type: 'token', entity_id: '', operation: 'read', message: 'Denied: Token read' },
  ])
})

t.test(
  'a denial by the operation itself is recorded once, by the kernel only when it is audited',
  async (t) => {
    const run = async () => {
      throw new AppError('forbidden', 'Not this one.')
    }
    const audited = operationOf({ permission: 'thing:read', audit: { entity: 'thing', verb: 'read' }, run })
    const own = operationOf({ rpc: 'Things.P', http: 'GET /p/{id}', permission: 'thing:read', run })
    const { invoke, appended } = await setUp(t, [audited, own])
    const id = '7a2c4e68-9b1d-4f35-a806-c3e5f7d9b124'
    await t.rejects(invoke(audited, { id }), { code: 'forbidden', message: 'Not this one.' })
    await t.rejects(invoke(own, { id: 'y' }), { code: 'forbidden' })
    t.same(
      appended.flat().map(({ entity_id }) => entity_id),
      [id],
    )
  },
)

t.test('a denial that cannot be recorded stays a denial', async (t) => {
  const operation = operationOf({ permission: 'thing:read' })
  const { state, journal } = failing()
  const { invoke } = await setUp(t, [operation], { journal, permissions: [] })
  state.writes = false
  await t.rejects(invoke(operation, { id: 'x' }), { code: 'forbidden' })
})

/** A log whose lines can be read. */
const readable = () => {
  const lines: unknown[][] = []
  const real = createLog('test', 'silent')
  const log = Object.assign(Object.create(real), {
    error: (...args: unknown[]) => lines.push(args),
    child: () => log,
  }) as Log
  return { log, lines }
}

t.test('any thrown value becomes an AppError; causes are logged with the trace id', async (t) => {
  const { log, lines } = readable()
  const broken = operationOf({
    run: async () => {
      throw new TypeError('the number 4242424242424242')
    },
  })
  const odd = operationOf({ rpc: 'Things.O', http: 'GET /o/{id}', run: () => Promise.reject('text') })
  const sync = operationOf({
    rpc: 'Things.S',
    http: 'GET /s/{id}',
    run: () => {
      throw new Error('not even a promise')
    },
  })
  const expected = operationOf({
    rpc: 'Things.E',
    http: 'GET /e/{id}',
    run: async () => {
      throw new AppError('conflict', 'There is one already.')
    },
  })
  const { invoke } = await setUp(t, [broken, odd, sync, expected], { log })
  for (const operation of [broken, odd, sync]) {
    const thrown = await invoke(operation, { id: '1' }).catch((error: unknown) => error as AppError)
    if (!(thrown instanceof AppError)) return t.fail('it was not rejected')
    t.equal(thrown.code, 'internal')
    t.notMatch(thrown.message, /4242|text|promise/)
  }
  t.equal(lines.length, 3)
  for (const [entry] of lines) t.match(entry, { trace_id: 'trace-1', operation: /^Things\./ })
  await t.rejects(invoke(expected, { id: '1' }), { code: 'conflict' })
  t.equal(lines.length, 3, 'errors of callers are not logged')
})

t.test('a call rejects with the reason of its signal when that aborts first', async (t) => {
  const entered = Promise.withResolvers<AbortSignal>()
  const operation = operationOf({
    run: (_input: unknown, call: Call) => {
      entered.resolve(call.signal)
      return new Promise((_resolve, reject) => call.signal.addEventListener('abort', reject))
    },
  })
  const { invoke } = await setUp(t, [operation])
  const controller = new AbortController()
  const response = invoke(operation, { id: '1' }, { signal: controller.signal })
  const signal = await entered.promise
  controller.abort(new AppError('gateway_timeout', 'Too slow.'))
  await t.rejects(response, { code: 'gateway_timeout', message: 'Too slow.' })
  t.equal(signal.aborted, true)
})

t.test('a call whose caller disconnected is finished and recorded, and stopping waits for it', async (t) => {
  const entered = Promise.withResolvers<void>()
  const finished = Promise.withResolvers<void>()
  const operation = operationOf({
    audit: { entity: 'thing', verb: 'create' },
    run: async () => {
      entered.resolve()
      await finished.promise
      return { id: 'made' }
    },
  })
  const { invoke, appended, service } = await setUp(t, [operation])
  const controller = new AbortController()
  const response = invoke(operation, { id: '1' }, { signal: controller.signal })
  await entered.promise
  controller.abort()
  await t.rejects(response, { code: 'gateway_timeout' })
  t.same(appended, [])
  const stopped = service.kernel.stop()
  finished.resolve()
  await stopped
  t.match(appended.flat(), [{ entity_id: 'made', operation: 'create' }])
})

t.test('a call whose caller disconnected before its start does not run', async (t) => {
  let runs = 0
  const operation = operationOf({
    run: async () => {
      runs++
      return { id: '1' }
    },
  })
  const { invoke } = await setUp(t, [operation])
  await t.rejects(invoke(operation, { id: '1' }, { signal: AbortSignal.abort() }), {
    code: 'gateway_timeout',
  })
  t.equal(runs, 0)
})

t.test('an operation of another kernel is rejected', async (t) => {
  const { invoke } = await setUp(t, [operationOf()])
  await t.rejects(invoke(operationOf({ permission: 'none' }), { id: '1' }), { code: 'internal' })
})

t.test('each stage is measured', async (t) => {
  const operation = operationOf({ audit: { entity: 'thing', verb: 'read' } })
  const { invoke, service } = await setUp(t, [operation])
  await invoke(operation, { id: '1' })
  const text = await service.metrics.registry.getSingleMetricAsString('sidevault_stage_duration_seconds')
  for (const stage of ['authenticate', 'validate', 'run', 'audit'])
    t.match(text, new RegExp(`sidevault_stage_duration_seconds_count\\{stage="${stage}"\\} 1`))
})
