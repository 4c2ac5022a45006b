import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { CPU } from './loops.ts'

t.test('loops in every place where code can run end at the CPU limit', (t) =>
  besideNeighbour(t, { loop: CPU }),
)
