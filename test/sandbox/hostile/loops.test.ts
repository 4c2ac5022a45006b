import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { CPU } from './loops.ts'

t.test('loops in every place where code can run cost their author a CPU limit', (t) =>
  besideNeighbour(t, { loop: CPU }),
)
