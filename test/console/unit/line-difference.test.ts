import fc from 'fast-check'
import t from 'tap'
import {
  type DifferenceLine,
  foldUnchanged,
  lineDifference,
  withLineEndings,
} from '../../../src/console/kit/line-difference.ts'

const side = (lines: readonly DifferenceLine[], without: DifferenceLine['kind']) =>
  lines.flatMap(({ kind, text }) => (kind === without ? [] : [text]))

/** Length of a longest common subsequence, by the table. */
const longestCommon = (a: readonly string[], b: readonly string[]): number => {
  let row = new Array<number>(b.length + 1).fill(0)
  for (const line of a) {
    const next = [0]
    for (const [at, other] of b.entries())
      next.push(line === other ? row[at]! + 1 : Math.max(row[at + 1]!, next[at]!))
    row = next
  }
  return row.at(-1)!
}

const text = fc.array(fc.constantFrom('a', 'b', 'c', '', '}'), { maxLength: 30 })

t.test('a difference contains both texts, and is a shortest one', (t) => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = lineDifference(
        before.map((line) => `${line}\n`).join(''),
        after.map((line) => `${line}\n`).join(''),
      )
      t.strictSame(side(lines, 'added'), before)
      t.strictSame(side(lines, 'removed'), after)
      const same = lines.filter(({ kind }) => kind === 'same').length
      if (same !== longestCommon(before, after)) throw new Error(`${same} lines are the same`)
    }),
    { numRuns: 500 },
  )
  t.end()
})

t.test('lines have their numbers in both texts', (t) => {
  t.strictSame(lineDifference('a\nb\nc', 'a\nx\nc\nd'), [
    { kind: 'same', text: 'a', before: 1, after: 1 },
    { kind: 'removed', text: 'b', before: 2 },
    { kind: 'added', text: 'x', after: 2 },
    { kind: 'same', text: 'c', before: 3, after: 3 },
    { kind: 'added', text: 'd', after: 4 },
  ])
  t.end()
})

t.test('line endings, and a final line feed, are no difference', (t) => {
  t.strictSame(side(lineDifference('a\r\nb\r\n', 'a\nb'), 'same'), [])
  t.strictSame(lineDifference('', ''), [])
  t.end()
})

t.test('texts that differ everywhere are compared in bounded time', (t) => {
  const of = (name: string) => Array.from({ length: 25_000 }, (_, at) => `${name}${at % 7}`).join('\n')
  const lines = lineDifference(of('a'), of('b'))
  t.equal(lines.length, 50_000)
  t.equal(lines[0]?.kind, 'removed')
  t.equal(lineDifference('', of('a')).length, 25_000)
  t.end()
})

t.test('a line added to each of 400 lines is found', (t) => {
  const before = Array.from({ length: 400 }, (_, at) => `line ${at}`)
  const lines = lineDifference(before.join('\n'), before.flatMap((line) => [line, 'new']).join('\n'))
  t.equal(lines.filter(({ kind }) => kind === 'same').length, 400)
  t.equal(lines.filter(({ kind }) => kind === 'removed').length, 0)
  t.end()
})

t.test('long runs of unchanged lines are folded', (t) => {
  const before = Array.from({ length: 30 }, (_, at) => `${at}`)
  const rows = foldUnchanged(lineDifference(before.join('\n'), before.with(15, 'x').join('\n')))
  t.strictSame(
    rows.map((row) => (row.kind === 'folded' ? row.count : row.text)),
    [12, '12', '13', '14', '15', 'x', '16', '17', '18', 11],
  )
  t.end()
})

t.test('changed code keeps its line endings', (t) => {
  t.equal(withLineEndings('a\nb', 'x\r\ny'), 'a\r\nb')
  t.equal(withLineEndings('a\nb', 'x\ny'), 'a\nb')
  t.end()
})
