import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { CPU } from './loops.ts'

t.test('a loop in any place of code ends its program by the CPU limit', (t) =>
  besideNeighbour(t, { loop: CPU }),
)
