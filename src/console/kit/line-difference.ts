/** Difference of two texts by lines. */

export interface DifferenceLine {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
  /** Line in the former text, from 1; absent for an added one. */
  readonly before?: number
  /** Line in the new text, from 1; absent for a removed one. */
  readonly after?: number
}

/** Maximum changed lines of a minimal difference. Beyond it the changed part is removed and added complete. */
const MAX_CHANGES = 1_000

/** Line feeds alone, as a `<textarea>` holds them. */
export const normalizeLineEndings = (text: string): string => text.replace(/\r\n?/g, '\n')

/** `text` with the line endings of `like`: CRLF where that has one, else LF. */
export const withLineEndings = (text: string, like: string): string =>
  like.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text

/** Lines of a text; a line feed at its end starts no line. */
const linesOf = (text: string): readonly string[] => {
  if (text === '') return []
  const lines = normalizeLineEndings(text).split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/** Positions of `lines` that are equal to positions of `others`, of a shortest script (Myers 1986). */
const matches = (
  lines: readonly string[],
  others: readonly string[],
): readonly (readonly [number, number])[] => {
  const [n, m] = [lines.length, others.length]
  const most = Math.min(n + m, MAX_CHANGES)
  const reached = new Int32Array(2 * most + 3)
  const at = (k: number) => k + most + 1
  const trace: Int32Array[] = []
  const isDown = (from: Int32Array, k: number, d: number) =>
    k === -d || (k !== d && from[at(k - 1)]! < from[at(k + 1)]!)
  for (let d = 0; d <= most; d++) {
    trace.push(reached.slice(at(-d) - 1, at(d) + 2))
    for (let k = -d; k <= d; k += 2) {
      let x = isDown(reached, k, d) ? reached[at(k + 1)]! : reached[at(k - 1)]! + 1
      while (x < n && x - k < m && lines[x] === others[x - k]) x++
      reached[at(k)] = x
      if (x >= n && x - k >= m) return walkBack(trace, n, m)
    }
  }
  return []
}

/** The diagonals of the path that ends at (n, m). `trace[d]` is the part of `reached` that step d read. */
const walkBack = (
  trace: readonly Int32Array[],
  n: number,
  m: number,
): readonly (readonly [number, number])[] => {
  const pairs: (readonly [number, number])[] = []
  let [x, y] = [n, m]
  for (let d = trace.length - 1; d >= 0; d--) {
    const step = trace[d]!
    const at = (k: number) => step[k + d + 1]!
    const k = x - y
    const from = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1
    const [startX, startY] = d === 0 ? [0, 0] : [at(from), at(from) - from]
    while (x > startX && y > startY) pairs.push([--x, --y])
    ;[x, y] = [startX, startY]
  }
  return pairs.toReversed()
}

const commonStart = (a: readonly string[], b: readonly string[]): number => {
  let count = 0
  while (count < a.length && count < b.length && a[count] === b[count]) count++
  return count
}

/** Unchanged, removed and added lines from `before` to `after`. Line endings are not compared. */
export const lineDifference = (before: string, after: string): readonly DifferenceLine[] => {
  const [old, now] = [linesOf(before), linesOf(after)]
  const start = commonStart(old, now)
  const end = commonStart(old.slice(start).toReversed(), now.slice(start).toReversed())
  const middle = matches(old.slice(start, old.length - end), now.slice(start, now.length - end))
  const result: DifferenceLine[] = []
  let [x, y] = [0, 0]
  const upTo = (nextX: number, nextY: number) => {
    for (; x < nextX; x++) result.push({ kind: 'removed', text: old[x]!, before: x + 1 })
    for (; y < nextY; y++) result.push({ kind: 'added', text: now[y]!, after: y + 1 })
  }
  const same = () => result.push({ kind: 'same', text: now[y]!, before: ++x, after: ++y })
  while (x < start) same()
  for (const [atX, atY] of middle) {
    upTo(start + atX, start + atY)
    same()
  }
  upTo(old.length - end, now.length - end)
  while (x < old.length) same()
  return result
}

/** Unchanged lines that are shown around a change. */
const CONTEXT = 3

/** A line, or a number of unchanged lines that are left out. */
export type DifferenceRow = DifferenceLine | { readonly kind: 'folded'; readonly count: number }

/** `lines` with long runs of unchanged ones folded. */
export const foldUnchanged = (lines: readonly DifferenceLine[]): readonly DifferenceRow[] => {
  const near = new Uint8Array(lines.length)
  lines.forEach(({ kind }, at) => {
    if (kind !== 'same') near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1)
  })
  const rows: DifferenceRow[] = []
  for (let at = 0; at < lines.length; at++) {
    if (near[at] === 1) rows.push(lines[at]!)
    else {
      const from = at
      while (at + 1 < lines.length && near[at + 1] === 0) at++
      rows.push(at === from ? lines[at]! : { kind: 'folded', count: at - from + 1 })
    }
  }
  return rows
}
