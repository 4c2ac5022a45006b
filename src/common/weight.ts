/** Largest weight of one piece of long work: a few milliseconds to serialize. */
export const PIECE = 128 * 1024

/** Serialization overhead of one value, in characters. */
const VALUE = 8

/** Approximate cost of serializing a JSON value, in characters. Stops above `limit`. */
export const weigh = (value: unknown, limit: number): number => {
  let weight = 0
  const open: unknown[] = [value]
  while (open.length > 0) {
    const item = open.pop()
    weight += VALUE
    if (typeof item === 'string') weight += item.length
    else if (Array.isArray(item)) {
      if (weight + item.length * VALUE > limit) return limit + 1
      for (const inner of item) open.push(inner)
    } else if (typeof item === 'object' && item !== null)
      for (const name in item) {
        open.push((item as Record<string, unknown>)[name])
        weight += name.length
        if (weight + open.length * VALUE > limit) return limit + 1
      }
    if (weight > limit) return limit + 1
  }
  return weight
}

/** Groups items into runs of at most one piece. An item above that is a run of its own, and `heavy`. */
export function* runsOf<T>(
  items: readonly T[],
  contentOf: (item: T) => unknown,
): Generator<{ readonly items: readonly T[]; readonly heavy: boolean }> {
  let from = 0
  let weight = 0
  for (const [at, item] of items.entries()) {
    const more = weigh(contentOf(item), PIECE)
    if (weight + more > PIECE && at > from) {
      yield { items: items.slice(from, at), heavy: weight > PIECE }
      from = at
      weight = 0
    }
    weight += more
  }
  if (from < items.length) yield { items: items.slice(from), heavy: weight > PIECE }
}
