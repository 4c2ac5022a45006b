/** The outcome of `ask`, or a rejection after `ms`; its signal is aborted in both cases. */
export const within = async <T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([(async () => ask(controller.signal))(), late])
  } finally {
    clearTimeout(timer)
    controller.abort()
  }
}
