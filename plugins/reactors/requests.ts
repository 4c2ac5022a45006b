import { AppError, type Call, type Json, type Kernel, newId } from '#sdk'
import type { Waiting } from './callbacks.ts'
import { Callbacks, type Outcome, Requests } from './collections.ts'
import { noResult } from './faults.ts'
import type { Prepared, React } from './react.ts'

/** How long a result is kept, ms. */
const KEPT = 24 * 60 * 60_000
/** Milliseconds by which an invocation has ended, one way or the other, while its process lives. */
const ENDS_WITHIN = 60_000
/** Invocations that nobody waits for, in this process and of one tenant. */
const MOST = 1_000
const MOST_OF_TENANT = 100

const INTERRUPTED = new AppError(
  'unavailable',
  'The service stopped while the reactor ran: it may or may not have done its work. Look, then ask again.',
)

const failed = (thrown: unknown): Outcome => {
  const { title, status, detail } = AppError.from(thrown).toProblem()
  return { error: { title, status, detail } }
}

/** An outcome as callers and receivers of callbacks see it. */
const shown = (id: string, outcome: Outcome): Json => ({ asyncReactorRequestId: id, ...outcome }) as Json

const overloaded = () =>
  new AppError('overloaded', 'Too many reactors run in the background. Try again shortly.', { retryAfter: 5 })

/**
 * Invocations that are answered later (completions §8). Arguments are held in memory only; results lie in the store,
 * sealed, for 24 h. What a crash interrupts is a failed result once its time is over.
 */
export const createRequests = (
  kernel: Kernel,
  {
    react,
    deliver,
    signal,
  }: {
    readonly react: React
    /** Told when a result is ready that somebody waits for. */
    readonly deliver: (waiting: Waiting, due: number) => void
    readonly signal: AbortSignal
  },
) => {
  const requests = () => kernel.records(Requests)
  const running = new Map<Promise<void>, string>()

  const outcomeOf = async (prepared: Prepared, call: Call, wallMs: number | undefined): Promise<Outcome> => {
    const { caller, traceId, depth } = call
    try {
      return await react.run(prepared, { caller, traceId, depth, wallMs, signal })
    } catch (thrown) {
      if (!(thrown instanceof AppError))
        kernel.log.error({ err: thrown, trace_id: traceId }, 'a reactor in the background failed')
      return failed(signal.aborted ? INTERRUPTED : thrown)
    }
  }

  const finish = async (tenantId: string, id: string, outcome: Outcome): Promise<void> => {
    await requests().update(tenantId, id, (request) => ({ ...request, outcome }))
    const due = kernel.clock.now()
    const waits = await kernel.records(Callbacks).update(tenantId, id, (callback) => ({ ...callback, due }))
    if (waits !== undefined) deliver({ tenantId, id }, due)
  }

  /** What became of a request: undefined while it runs. */
  const outcome = async (
    tenantId: string,
    id: string,
    asked?: { readonly actorId: string; readonly reactorId: string },
  ): Promise<Outcome | undefined> => {
    const request = await requests().get(tenantId, id)
    const theirs =
      request !== undefined &&
      request.expires_at > kernel.clock.now() &&
      (asked === undefined || (asked.actorId === request.actor_id && asked.reactorId === request.reactor_id))
    if (!theirs) throw noResult(id)
    return request.outcome ?? (kernel.clock.now() > request.due ? failed(INTERRUPTED) : undefined)
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
      const { tenantId, actorId } = call.caller
      const ofTenant = [...running.values()].filter((each) => each === tenantId).length
      if (running.size >= MOST || ofTenant >= MOST_OF_TENANT || signal.aborted) throw overloaded()
      const id = newId()
      const times = { due: call.now + ENDS_WITHIN, expires_at: call.now + KEPT }
      const reactor_id = prepared.reactor.id
      await kernel.commit([
        requests().inserting(tenantId, { id, reactor_id, actor_id: actorId, ...times }),
        ...(callbackUrl === undefined
          ? []
          : [
              kernel
                .records(Callbacks)
                .inserting(tenantId, { id, reactor_id, url: callbackUrl, attempts: 0, ...times }),
            ]),
      ])
      const work = outcomeOf(prepared, call, wallMs)
        .then((result) => finish(tenantId, id, result))
        .catch((err: unknown) => {
          kernel.log.error({ err, trace_id: call.traceId }, 'the result of a reactor could not be kept')
        })
        .finally(() => running.delete(work))
      running.set(work, tenantId)
      return id
    },

    /** `not_found` until there is one, and for everybody but the actor that asked. */
    result: async ({ caller }: Call, reactorId: string, id: string): Promise<Outcome> => {
      const found = await outcome(caller.tenantId, id, { actorId: caller.actorId, reactorId })
      if (found === undefined) throw noResult(id)
      return found
    },

    /** The body of a callback; undefined when the result is gone. */
    body: async ({ tenantId, id }: Waiting): Promise<Json | undefined> => {
      try {
        const found = await outcome(tenantId, id)
        return found && shown(id, found)
      } catch (thrown) {
        if (thrown instanceof AppError && thrown.code === 'not_found') return undefined
        throw thrown
      }
    },

    settled: async (): Promise<void> => {
      await Promise.allSettled(running.keys())
    },
  }
}

export type BackgroundRequests = ReturnType<typeof createRequests>
