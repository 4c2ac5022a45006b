/** ms between two log lines of one kind. */
const EVERY_MS = 10_000

/**
 * Throttle for log lines that any call may cause. Returns how many of this kind were suppressed since the last one, or
 * undefined when this one must be suppressed too. Kinds must be few. `now`: ms of a monotonic clock.
 */
export const createLogThrottle = (
  now: () => number = () => performance.now(),
): ((kind: string) => number | undefined) => {
  const last = new Map<string, { readonly at: number; suppressed: number }>()
  return (kind) => {
    const logged = last.get(kind)
    if (logged !== undefined && now() < logged.at + EVERY_MS) {
      logged.suppressed++
      return undefined
    }
    last.set(kind, { at: now(), suppressed: 0 })
    return logged?.suppressed ?? 0
  }
}
