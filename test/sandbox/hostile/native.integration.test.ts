import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { NATIVE } from './loops.ts'

t.test('loops inside V8 end with their process', (t) => besideNeighbour(t, { native: NATIVE }))
