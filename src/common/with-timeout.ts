import type { Eventual } from './eventual.ts'

/** A step exceeded its timeout. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/** A timeout for steps of work, one at a time. */
interface StepTimeout {
  /**
   * Rejects after `ms`, or when the step is canceled. The work then continues, and its result is ignored. A step whose
   * result is there needs no timer.
   */
  within<T>(ms: number, work: Promise<T>): Promise<T>
  within<T>(ms: number, work: Eventual<T>): Eventual<T>
  /** Aborted when a step times out or is canceled. */
  signal(): AbortSignal
  cancel(): void
}

class Timeout implements StepTimeout {
  readonly #timeoutError: (ms: number) => Error
  /** Ends the step that is running. */
  #end: (() => void) | undefined
  // Created lazily: most uses need none.
  #controller: AbortController | undefined
  #over = false

  constructor(timeoutError: (ms: number) => Error) {
    this.#timeoutError = timeoutError
  }

  within<T>(ms: number, work: Promise<T>): Promise<T>
  within<T>(ms: number, work: Eventual<T>): Eventual<T>
  within<T>(ms: number, work: Eventual<T>): Eventual<T> {
    if (!(work instanceof Promise)) return work
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        this.#end = undefined
      }
      const fail = () => {
        settle()
        this.#over = true
        reject(this.#timeoutError(ms))
        this.#controller?.abort()
      }
      this.#end = fail
      // Timers run before socket reads, setImmediate after them: a reply that arrived in time counts.
      const timer = setTimeout(() => setImmediate(() => this.#end === fail && fail()), ms)
      work.then(
        (value) => {
          settle()
          resolve(value)
        },
        (error) => {
          settle()
          reject(error)
        },
      )
    })
  }

  signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#over) this.#controller.abort()
    return this.#controller.signal
  }

  cancel(): void {
    this.#end?.()
  }
}

/** `timeoutError`: returns the error of a step that did not end within `ms`. */
export const createStepTimeout = (timeoutError: (ms: number) => Error): StepTimeout =>
  new Timeout(timeoutError)

/** The outcome of `ask`, or a `TimeoutError` after `ms`; its signal is aborted in both cases. */
export const withTimeout = async <T>(
  ms: number,
  ask: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> => {
  const controller = new AbortController()
  const timeout = createStepTimeout(() => new TimeoutError(`timeout after ${ms} ms`))
  try {
    return await timeout.within(ms, (async () => ask(controller.signal))())
  } finally {
    controller.abort()
  }
}
