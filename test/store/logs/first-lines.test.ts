import t from 'tap'
import { firstLines } from '../../../src/store/logs/first-lines.ts'
import { aLog } from '../kit.ts'

t.test('at least as many rows as asked for, in order, with all of their last line', async (t) => {
  const rows = Array.from({ length: 90 }, (_, seq) => aLog(seq, { hash: `line ${Math.floor(seq / 30)}` }))
  for (const [least, length] of [
    [1, 30],
    [30, 30],
    [31, 60],
    [90, 90],
    [91, 90],
  ] as const)
    t.same(firstLines(rows, least), rows.slice(0, length), `${least}`)
  t.same(firstLines([], 20), [])
})
