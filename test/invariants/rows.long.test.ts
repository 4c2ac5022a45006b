import t from 'tap'
import { attackRows } from './attack-rows.ts'

t.test('any row of any table that is edited, swapped or put back alone gives no more than an error', (t) =>
  attackRows(t, { all: true }),
)
