import t from 'tap'
import { slicesOf } from '../../../src/store/logs/slices.ts'
import { aLog } from '../kit.ts'

t.test('rows are written in slices of about 200, in order', async (t) => {
  const rows = Array.from({ length: 450 }, (_, seq) => aLog(seq))
  const slices = slicesOf(rows)
  t.same(
    slices.map(({ length }) => length),
    [200, 200, 50],
  )
  t.same(slices.flat(), rows)
  t.same(slicesOf([]), [])
})

t.test('the rows of one line are in one slice', async (t) => {
  const rows = Array.from({ length: 600 }, (_, seq) => aLog(seq, { hash: `line ${Math.floor(seq / 30)}` }))
  t.same(
    slicesOf(rows).map(({ length }) => length),
    [210, 210, 180],
  )
  const large = rows.map((row) => ({ ...row, hash: 'one line' }))
  t.same(slicesOf(large), [large])
})
