import t from 'tap'
import { attackRows } from './attack-rows.ts'

t.test('a row that is edited, swapped or restored causes no more than an error', (t) =>
  attackRows(t, { all: false }),
)
