/**
 * Spans of calls. Without a tracer, the default, there are none. A process has at most one tracer, and each span is a
 * part of one call: like the log of Node's warnings it is no dependency that is handed through every constructor.
 */
import { AppError } from './errors.ts'
import type { Eventual } from './eventual.ts'
import type { TraceContext } from './trace-context.ts'

/** All that a span says besides its name and its times: names, codes and counts, never a text of a caller or tenant. */
export interface SpanFacts {
  /** Status of the response. */
  readonly status?: number | undefined
  /** Code of the error, or name of the exceeded limit. */
  readonly error?: string | undefined
  readonly outcome?: string | undefined
  /** Tokens used. */
  readonly tokens?: number | undefined
  /** Host of the destination. */
  readonly host?: string | undefined
}

export interface Span {
  readonly context: TraceContext
  /** Starts a span below this one. `client`: of a request to another service. */
  start(name: string, kind?: 'client'): Span
  /** Adds a span below this one that is over. Times are those of `performance.now()`. */
  add(name: string, startedAt: number, endedAt: number): void
  /** Later facts replace earlier ones. */
  set(facts: SpanFacts): void
  end(): void
}

export interface Tracer {
  /** Starts the span of a call below the caller's, or a new trace: with this id, where it is valid for one. */
  start(name: string, parent: TraceContext | undefined, traceId: string): Span
  /** The span that `within` set for the running work. */
  current(): Span | undefined
  within<T>(span: Span, work: () => T): T
}

let installed: Tracer | undefined

/** Undefined removes it. */
export const installTracer = (tracer: Tracer | undefined): void => {
  installed = tracer
}

/** See `Tracer.start`. Undefined without a tracer. */
export const startSpan = (
  name: string,
  parent: TraceContext | undefined,
  traceId: string,
): Span | undefined => installed?.start(name, parent, traceId)

export const currentSpan = (): Span | undefined => installed?.current()

/** Runs work whose `currentSpan` is this one. */
export const withinSpan = <T>(span: Span | undefined, work: () => T): T =>
  span === undefined || installed === undefined ? work() : installed.within(span, work)

const failed = (span: Span, thrown: unknown): void => {
  span.set({ error: AppError.from(thrown).code })
  span.end()
}

/** Runs work in a span below `parent`, which ends with it. Without a parent there is none. */
export const inSpan = <T>(
  parent: Span | undefined,
  name: string,
  work: (span: Span | undefined) => Eventual<T>,
): Eventual<T> => {
  if (parent === undefined) return work(undefined)
  const span = parent.start(name)
  try {
    const result = withinSpan(span, () => work(span))
    if (result instanceof Promise)
      return result.then(
        (value) => {
          span.end()
          return value
        },
        (thrown) => {
          failed(span, thrown)
          throw thrown
        },
      )
    span.end()
    return result
  } catch (thrown) {
    failed(span, thrown)
    throw thrown
  }
}
