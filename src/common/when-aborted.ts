/** Rejects with the signal's reason when it is aborted. The rejection may stay unhandled. */
export const whenAborted = (signal: AbortSignal): Promise<never> => {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  return aborted
}
