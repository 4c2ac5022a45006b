/** ms for which one of a kind speaks for those that follow. */
const EVERY_MS = 10_000

/**
 * For logs of what may happen with every call: how many of this kind went unsaid since one was last said, or undefined
 * when this one should go unsaid too. Kinds must be few. `now`: ms of any clock that only goes forward.
 */
export const createLogThrottle = (
  now: () => number = () => performance.now(),
): ((kind: string) => number | undefined) => {
  const last = new Map<string, { readonly at: number; suppressed: number }>()
  return (kind) => {
    const said = last.get(kind)
    if (said !== undefined && now() < said.at + EVERY_MS) {
      said.suppressed++
      return undefined
    }
    last.set(kind, { at: now(), suppressed: 0 })
    return said?.suppressed ?? 0
  }
}
