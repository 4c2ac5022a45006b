/**
 * The outcome of `ask`, or a rejection after `ms`; its signal is aborted in both cases. What arrived while this process
 * was too busy to look is in time.
 */
export const withTimeout = async <T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    // Timers come before what sockets hold; what is there is read first.
    timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer within ${ms} ms`))), ms)
  })
  try {
    return await Promise.race([(async () => ask(controller.signal))(), late])
  } finally {
    clearTimeout(timer)
    controller.abort()
  }
}
