import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, type Call, type Json, newId, type PluginContext, type TokenState } from '#sdk'
import { createBackgroundBudget } from './background-budget.ts'
import type { Pending, Waiting } from './callbacks.ts'
import { Callbacks, type Outcome, type RequestRecord, Requests } from './collections.ts'
import { resultNotFound } from './not-found.ts'
import type { Prepared, React } from './react.ts'

/** Retention of a result (completions §8), ms. */
const RETAINED = 15 * 60_000

/** ms between two attempts to store an outcome while the store is unreachable. */
const RETRY = 1_000

const INTERRUPTED = new AppError(
  'gateway_timeout',
  'The service stopped while the reactor ran, or lost its store. Check what it changed before you invoke it again.',
)

const STOPPING = new AppError('overloaded', 'The service is stopping. Retry.', { retryAfter: 5 })

const TOO_MANY = new AppError(
  'too_large',
  'The reactor used too many tokens for a background result. Use fewer, or invoke it synchronously.',
)

/** The tokens that a result depends on, and its expiry: the first expiry of a token, at most `latest`. */
const madeOf = (states: readonly TokenState[], latest: number) => ({
  tokens: states.map(({ id }) => id),
  expires_at: states.reduce((end, { until }) => Math.min(end, until ?? end), latest),
})

const failed = (thrown: unknown): Outcome => {
  const { errors: _, ...error } = AppError.from(thrown).toProblem()
  return { error }
}

interface BeginOptions {
  readonly wallMs: number | undefined
  readonly callbackUrl: string | undefined
}

/** A running invocation. */
interface Running {
  readonly tenantId: string
  readonly id: string
  readonly hasCallback: boolean
  /** Its result is of no use after this time. */
  readonly until: number
}

/** The store is unreachable or busy, or has not confirmed a write: it may be repeated later. */
const isAway = (thrown: unknown): boolean =>
  thrown instanceof AppError && (thrown.code === 'overloaded' || thrown.code === 'gateway_timeout')

/** An outcome as it is returned to callers and sent to callback receivers. */
const shown = (id: string, outcome: Outcome): Json => ({ asyncReactorRequestId: id, ...outcome }) as Json

/**
 * Background invocations (completions §8). Arguments are in memory only. Results are sealed in the store until they are
 * read, for 15 minutes at most, and are deleted with a token that they depend on. The running process renews a lease
 * until the outcome is stored. When it has not for `leaseMs`, the invocation has failed.
 */
export const createRequests = (
  context: PluginContext,
  {
    react,
    deliver,
    leaseMs,
    signal,
  }: {
    readonly react: React
    readonly leaseMs: number
    /** Called when the result of an invocation with a callback is ready. */
    readonly deliver: (waiting: Waiting, due: number) => void
    readonly signal: AbortSignal
  },
) => {
  const requests = () => context.records(Requests)
  const callbacks = () => context.records(Callbacks)
  const running = new Map<string, Running & { readonly work: Promise<void> }>()
  const takeBackground = createBackgroundBudget()

  const renewing = setInterval(() => {
    for (const { tenantId, id } of running.values())
      requests()
        .update(tenantId, id, (request) => ({ ...request, running_until: context.clock.now() + leaseMs }))
        .catch((err: unknown) => context.log.warn({ err, request: id }, 'invocation lease not renewed'))
  }, leaseMs / 3).unref()
  signal.addEventListener('abort', () => clearInterval(renewing), { once: true })

  const outcomeOf = async (prepared: Prepared, call: Call, wallMs: number | undefined): Promise<Outcome> => {
    const { caller, traceId, depth, used, code } = call
    try {
      return await react.run(prepared, { caller, traceId, depth, used, code, wallMs, signal })
    } catch (thrown) {
      if (!(thrown instanceof AppError))
        context.log.error({ err: thrown, trace_id: traceId }, 'background reactor invocation failed')
      return failed(signal.aborted ? INTERRUPTED : thrown)
    }
  }

  /** Repeats a write while the store is away, until the result is of no use or this process stops. */
  const retried = async <T>({ id, until }: Running, write: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++)
      try {
        return await write()
      } catch (err) {
        if (!isAway(err) || signal.aborted || context.clock.now() > until) throw err
        if (attempt === 1) context.log.warn({ err, request: id }, 'reactor result not stored; retrying')
        // A stopping process makes a last attempt at once.
        await sleep(RETRY, undefined, { signal }).catch(() => {})
      }
  }

  const finish = async (invocation: Running, outcome: Outcome, { used }: Call): Promise<void> => {
    const { tenantId, id } = invocation
    const states = used.states()
    const store = () =>
      requests()
        .update(tenantId, id, (request) => ({
          ...request,
          ...madeOf(states ?? [], request.expires_at),
          outcome: states === undefined ? failed(TOO_MANY) : outcome,
        }))
        .catch(async (thrown: unknown) => {
          if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
          // A token that the code used was deleted, and the result with it.
          await requests().delete(tenantId, id)
        })
    await retried(invocation, store)
    if (invocation.hasCallback) deliver({ tenantId, id }, context.clock.now())
  }

  /** A stored request and its outcome; undefined while it runs. */
  const find = async (
    tenantId: string,
    id: string,
  ): Promise<{ readonly request: RequestRecord; readonly outcome: Outcome | undefined } | undefined> => {
    const request = await requests().get(tenantId, id)
    if (request === undefined || request.expires_at <= context.clock.now()) return undefined
    const lost = context.clock.now() >= request.running_until ? failed(INTERRUPTED) : undefined
    return { request, outcome: request.outcome ?? lost }
  }

  /** Stores the request, and its callback. */
  const store = async (prepared: Prepared, call: Call, { callbackUrl }: BeginOptions): Promise<Running> => {
    const { tenantId, actorId, actorType } = call.caller
    const id = newId()
    const states = call.used.states()
    if (states === undefined) throw TOO_MANY
    const { tokens, expires_at } = madeOf(states, call.now + RETAINED)
    const shared = { id, reactor_id: prepared.reactor.id, expires_at }
    const by = { actor_id: actorId, actor_type: actorType, trace_id: call.traceId }
    const running_until = call.now + leaseMs
    const callback = { ...shared, attempts: 0, due: call.now }
    await context.commit([
      requests().insertMutation(tenantId, { ...shared, ...by, tokens, running_until }),
      ...(callbackUrl === undefined
        ? []
        : [callbacks().insertMutation(tenantId, { ...callback, url: callbackUrl })]),
    ])
    return { tenantId, id, hasCallback: callbackUrl !== undefined, until: expires_at }
  }

  return {
    /** Starts it in the background and returns the id of its result. Rejects with `overloaded` or `rate_limited`. */
    begin: async (prepared: Prepared, call: Call, options: BeginOptions): Promise<string> => {
      if (signal.aborted) throw STOPPING
      // Before the first await: concurrent calls would pass a check of what has started.
      const release = takeBackground(call.caller.tenantId, prepared.argument)
      let work: Promise<void> | undefined
      try {
        const invocation = await store(prepared, call, options)
        work = outcomeOf(prepared, call, options.wallMs)
          .then((result) => finish(invocation, result, call))
          .catch((err: unknown) => {
            context.log.error({ err, trace_id: call.traceId }, 'reactor result not stored')
          })
          .finally(() => {
            running.delete(invocation.id)
            release()
          })
        running.set(invocation.id, Object.assign(invocation, { work }))
        return invocation.id
      } finally {
        if (work === undefined) release()
      }
    },

    /** Returns the result once, with its audit record written. `result_not_found` until then, and for other actors. */
    result: async (call: Call, reactorId: string, id: string): Promise<Outcome> => {
      const { tenantId, actorId } = call.caller
      const { request, outcome } = (await find(tenantId, id)) ?? {}
      if (outcome === undefined || request?.actor_id !== actorId || request.reactor_id !== reactorId)
        throw resultNotFound()
      const message = 'Reactor result retrieved'
      await context.audit({ entity: 'reactor', id: reactorId, operation: 'read', message }, call)
      // Of several concurrent calls, one gets it.
      if (!(await requests().delete(tenantId, id))) throw resultNotFound()
      return outcome
    },

    /** The outcome for a callback, or the end of the lease of its invocation. Undefined when both are gone. */
    pending: async ({ tenantId, id }: Waiting): Promise<Pending | undefined> => {
      const { request, outcome } = (await find(tenantId, id)) ?? {}
      if (request === undefined) return undefined
      if (outcome === undefined) return { runningUntil: request.running_until }
      const { actor_id: actorId, actor_type: actorType, trace_id: traceId } = request
      return { body: shown(id, outcome), origin: { caller: { tenantId, actorId, actorType }, traceId } }
    },

    drop: ({ tenantId, id }: Waiting) => requests().delete(tenantId, id),

    isRunning: (id: string): boolean => running.has(id),

    settled: async (): Promise<void> => {
      await Promise.allSettled([...running.values()].map(({ work }) => work))
    },
  }
}

export type BackgroundRequests = ReturnType<typeof createRequests>
