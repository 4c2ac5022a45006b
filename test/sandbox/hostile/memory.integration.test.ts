import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { MEMORY } from './memory.ts'

t.test('memory of every kind is bounded', (t) => besideNeighbour(t, { memory: MEMORY }))
