import t from 'tap'
import { slicesOf } from '../../../src/store/logs/slices.ts'
import { aLog } from '../kit.ts'

t.test('rows are written in slices of about 100, in order', async (t) => {
  const rows = Array.from({ length: 210 }, (_, seq) => aLog(seq))
  const slices = slicesOf(rows)
  t.same(
    slices.map(({ length }) => length),
    [100, 100, 10],
  )
  t.same(slices.flat(), rows)
  t.same(slicesOf([]), [])
})

t.test('the rows of one line are in one slice', async (t) => {
  const rows = Array.from({ length: 240 }, (_, seq) => aLog(seq, { hash: `line ${Math.floor(seq / 60)}` }))
  t.same(
    slicesOf(rows).map(({ length }) => length),
    [120, 120],
  )
  const large = rows.map((row) => ({ ...row, hash: 'one line' }))
  t.same(slicesOf(large), [large])
})
