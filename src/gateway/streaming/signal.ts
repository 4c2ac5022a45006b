/** A promise that is settled from outside, again and again. One waits at a time. */
export const createSignal = () => {
  let waiting: { resolve(): void; reject(error: Error): void } | undefined
  const wake = (): void => {
    waiting?.resolve()
    waiting = undefined
  }
  return {
    /** Resolves when it is woken, after `ms` at the latest. */
    wait: (ms?: number) => {
      const timer = ms === undefined ? undefined : setTimeout(wake, ms)
      return new Promise<void>((resolve, reject) => {
        waiting = { resolve, reject }
      }).finally(() => clearTimeout(timer))
    },
    wake,
    /** Rejects what waits; makes no error when nothing does. */
    fail: (error: () => Error) => {
      waiting?.reject(error())
      waiting = undefined
    },
  }
}
