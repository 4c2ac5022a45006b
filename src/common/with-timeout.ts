/** A step exceeded its timeout. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/** A timeout for steps of work, one at a time. */
export interface StepTimeout {
  /** Rejects after `ms`, or when the step is canceled. The work then continues, and its result is ignored. */
  within<T>(ms: number, work: Promise<T>): Promise<T>
  /** Aborted when a step times out or is canceled. */
  signal(): AbortSignal
  cancel(): void
}

/** `late`: returns the error of a step that did not end within `ms`. */
export const createStepTimeout = (late: (ms: number) => Error): StepTimeout => {
  let end: (() => void) | undefined
  // Created lazily: most uses need none.
  let controller: AbortController | undefined
  let over = false
  return {
    within: (ms, work) =>
      new Promise((resolve, reject) => {
        const settle = () => {
          clearTimeout(timer)
          end = undefined
        }
        const fail = () => {
          settle()
          over = true
          reject(late(ms))
          controller?.abort()
        }
        end = fail
        // Timers run before socket reads, setImmediate after them: a reply that arrived in time counts.
        const timer = setTimeout(() => setImmediate(() => end === fail && fail()), ms)
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
      }),
    signal() {
      controller ??= new AbortController()
      if (over) controller.abort()
      return controller.signal
    },
    cancel: () => end?.(),
  }
}

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
