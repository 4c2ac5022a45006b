import { AppError, type Call, type Json, newId, type PluginContext, type TokenState } from '#sdk'
import type { Pending, Waiting } from './callbacks.ts'
import { Callbacks, type Outcome, type RequestRecord, Requests } from './collections.ts'
import { noResult } from './not-found.ts'
import type { Prepared, React } from './react.ts'

/** How long a result is kept (completions §8), ms. */
const RETAINED = 15 * 60_000
/** Invocations that nobody waits for, in this process and of one tenant. */
const MOST = 1_000
const MOST_OF_TENANT = 100

const INTERRUPTED = new AppError(
  'gateway_timeout',
  'The service stopped while the reactor ran: it may or may not have done its work. Look, then ask again.',
)

const TOO_MANY = new AppError(
  'too_large',
  'The reactor was given more tokens than its result can go with. Have it use fewer, or ask for the result at once.',
)

/** What a result goes with: these tokens, and the first end of one, `latest` at last. */
const madeOf = (states: readonly TokenState[], latest: number) => ({
  tokens: states.map(({ id }) => id),
  expires_at: states.reduce((end, { until }) => Math.min(end, until ?? end), latest),
})

const failed = (thrown: unknown): Outcome => {
  const { errors: _, ...error } = AppError.from(thrown).toProblem()
  return { error }
}

/** Of an invocation that has not ended: where its records are, and whether they are still to be renewed. */
interface Running {
  readonly tenantId: string
  readonly id: string
  readonly hasCallback: boolean
  over: boolean
}

/** An outcome as callers and receivers of callbacks see it. */
const shown = (id: string, outcome: Outcome): Json => ({ asyncReactorRequestId: id, ...outcome }) as Json

const overloaded = () =>
  new AppError('overloaded', 'Too many reactors run in the background. Try again shortly.', { retryAfter: 5 })

/**
 * Invocations that are answered later (completions §8). Arguments are held in memory only; results lie in the store,
 * sealed, until they are handed out, for 15 minutes at most, and go with a token that they were made of. The process that runs one says so again and again; when it has not for `leaseMs`, because it is gone,
 * the invocation is a failed result, wherever it is asked for.
 */
export const createRequests = (
  kernel: PluginContext,
  {
    react,
    deliver,
    leaseMs,
    signal,
  }: {
    readonly react: React
    readonly leaseMs: number
    /** Told when a result is ready that somebody waits for. */
    readonly deliver: (waiting: Waiting, due: number) => void
    readonly signal: AbortSignal
  },
) => {
  const requests = () => kernel.records(Requests)
  const callbacks = () => kernel.records(Callbacks)
  const running = new Map<Promise<void>, Running>()

  /** Whoever writes the outcome decides when it is due: what is over is left as it is. */
  const renew = async (one: Running): Promise<void> => {
    const due = kernel.clock.now() + leaseMs
    const later = <R extends { readonly due: number }>(record: R): R =>
      one.over ? record : { ...record, due }
    await requests().update(one.tenantId, one.id, later)
    if (one.hasCallback) await callbacks().update(one.tenantId, one.id, later)
  }

  const renewing = setInterval(() => {
    for (const one of running.values())
      renew(one).catch((err: unknown) => kernel.log.warn({ err, request: one.id }, 'a lease was not renewed'))
  }, leaseMs / 3).unref()
  signal.addEventListener('abort', () => clearInterval(renewing), { once: true })

  const outcomeOf = async (prepared: Prepared, call: Call, wallMs: number | undefined): Promise<Outcome> => {
    const { caller, traceId, depth, used } = call
    try {
      return await react.run(prepared, { caller, traceId, depth, used, wallMs, signal })
    } catch (thrown) {
      if (!(thrown instanceof AppError))
        kernel.log.error({ err: thrown, trace_id: traceId }, 'a reactor in the background failed')
      return failed(signal.aborted ? INTERRUPTED : thrown)
    }
  }

  const finish = async (one: Running, outcome: Outcome, { used }: Call): Promise<void> => {
    const { tenantId, id } = one
    one.over = true
    const states = used.states()
    await requests()
      .update(tenantId, id, (request) => ({
        ...request,
        ...madeOf(states ?? [], request.expires_at),
        outcome: states === undefined ? failed(TOO_MANY) : outcome,
      }))
      .catch(async (thrown: unknown) => {
        if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
        // A token that the code used is gone, and the result with it.
        await requests().delete(tenantId, id)
      })
    const due = kernel.clock.now()
    const waits = await callbacks().update(tenantId, id, (callback) => ({ ...callback, due }))
    if (waits !== undefined) deliver({ tenantId, id }, due)
  }

  /** A request that is kept still, and what became of it: undefined while it runs. */
  const find = async (
    tenantId: string,
    id: string,
  ): Promise<{ readonly request: RequestRecord; readonly outcome: Outcome | undefined } | undefined> => {
    const request = await requests().get(tenantId, id)
    if (request === undefined || request.expires_at <= kernel.clock.now()) return undefined
    const lost = kernel.clock.now() > request.due ? failed(INTERRUPTED) : undefined
    return { request, outcome: request.outcome ?? lost }
  }

  return {
    /** Runs it in the background; the id under which its result will be found. `overloaded`. */
    begin: async (
      prepared: Prepared,
      call: Call,
      {
        wallMs,
        callbackUrl,
      }: { readonly wallMs: number | undefined; readonly callbackUrl: string | undefined },
    ): Promise<string> => {
      const { tenantId, actorId, actorType } = call.caller
      const ofTenant = [...running.values()].filter((each) => each.tenantId === tenantId).length
      if (running.size >= MOST || ofTenant >= MOST_OF_TENANT || signal.aborted) throw overloaded()
      const id = newId()
      const states = call.used.states()
      if (states === undefined) throw TOO_MANY
      const { tokens, expires_at } = madeOf(states, call.now + RETAINED)
      const times = { due: call.now + leaseMs, expires_at }
      const reactor_id = prepared.reactor.id
      const by = { actor_id: actorId, actor_type: actorType, trace_id: call.traceId }
      await kernel.commit([
        requests().inserting(tenantId, { id, reactor_id, ...by, tokens, ...times }),
        ...(callbackUrl === undefined
          ? []
          : [callbacks().inserting(tenantId, { id, reactor_id, url: callbackUrl, attempts: 0, ...times })]),
      ])
      const one: Running = { tenantId, id, hasCallback: callbackUrl !== undefined, over: false }
      const work = outcomeOf(prepared, call, wallMs)
        .then((result) => finish(one, result, call))
        .catch((err: unknown) => {
          kernel.log.error({ err, trace_id: call.traceId }, 'the result of a reactor could not be kept')
        })
        .finally(() => running.delete(work))
      running.set(work, one)
      return id
    },

    /** Returns the result once, with its audit record written. `result_not_found` until then, and for other actors. */
    result: async ({ caller, traceId }: Call, reactorId: string, id: string): Promise<Outcome> => {
      const { tenantId, actorId, actorType } = caller
      const { request, outcome } = (await find(tenantId, id)) ?? {}
      if (outcome === undefined || request?.actor_id !== actorId || request.reactor_id !== reactorId)
        throw noResult()
      await kernel.audit({
        tenant_id: tenantId,
        actor_id: actorId,
        actor_type: actorType,
        entity_type: 'reactor',
        entity_id: reactorId,
        operation: 'read',
        message: 'Reactor result retrieved',
        trace_id: traceId,
        created_at: kernel.clock.now(),
      })
      // Of several who ask at once, one gets it.
      if (!(await requests().delete(tenantId, id))) throw noResult()
      return outcome
    },

    /** What a callback is to carry. */
    pending: async ({ tenantId, id }: Waiting): Promise<Pending | undefined> => {
      const { request, outcome } = (await find(tenantId, id)) ?? {}
      if (request === undefined || outcome === undefined) return undefined
      const { actor_id, actor_type, trace_id } = request
      return { body: shown(id, outcome), actor_id, actor_type, trace_id }
    },

    drop: ({ tenantId, id }: Waiting) => requests().delete(tenantId, id),

    settled: async (): Promise<void> => {
      await Promise.allSettled(running.keys())
    },
  }
}

export type BackgroundRequests = ReturnType<typeof createRequests>
