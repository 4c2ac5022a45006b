import { AppError } from '../common/errors.ts'

const SLOW = 'A part of the service does not answer. Nothing more was forwarded. Retry.'

/** Waits for the steps of one exchange, one at a time, as long as somebody waits for the exchange. */
export interface StepTimeout {
  /** Rejects with `gateway_timeout` after `ms`, or when the exchange is given up; the work then goes on unheard. */
  within<T>(ms: number, work: Promise<T>): Promise<T>
  /** Aborted when work goes on unheard. */
  signal(): AbortSignal
  /** Nobody waits any more. */
  cancel(): void
}

export const createStepTimeout = (): StepTimeout => {
  let end: (() => void) | undefined
  // Most exchanges need none.
  let controller: AbortController | undefined
  let over = false
  return {
    within: (ms, work) =>
      new Promise((resolve, reject) => {
        const settle = () => {
          clearTimeout(timer)
          end = undefined
        }
        end = () => {
          settle()
          over = true
          reject(new AppError('gateway_timeout', SLOW))
          controller?.abort()
        }
        const timer = setTimeout(end, ms)
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
