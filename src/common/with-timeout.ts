/** A step did not end in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/** Bounds steps of work in time, one step at a time. */
export interface StepTimeout {
  /** Rejects after `ms`, or when the step is canceled; the work then continues without a reader. */
  within<T>(ms: number, work: Promise<T>): Promise<T>
  /** Aborted when a step failed so. */
  signal(): AbortSignal
  cancel(): void
}

/** `late`: the error of a step that did not end in `ms`. */
export const createStepTimeout = (late: (ms: number) => Error): StepTimeout => {
  let end: (() => void) | undefined
  // Most uses need none.
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
        // Timers run before sockets are read: a reply that has arrived in time counts.
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
  const timeout = createStepTimeout(() => new TimeoutError(`no answer within ${ms} ms`))
  try {
    return await timeout.within(ms, (async () => ask(controller.signal))())
  } finally {
    controller.abort()
  }
}
