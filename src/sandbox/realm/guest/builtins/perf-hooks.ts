/** `perf_hooks`: milliseconds since the first use. */
const origin = () => Date.now()
let start: number | undefined

export const performance = {
  get timeOrigin(): number {
    start ??= origin()
    return start
  },
  now: (): number => Date.now() - performance.timeOrigin,
  mark: (): void => {},
  measure: (): void => {},
}
