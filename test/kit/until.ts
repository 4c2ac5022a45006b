/** Looks again and again until `condition` holds; rejects after `ms` with what it waited for. */
export const until = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 120_000,
): Promise<void> => {
  const end = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
