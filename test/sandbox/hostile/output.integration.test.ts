import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { CALLS, OUTLIVING, OUTPUT } from './output.ts'

t.test('output, host calls and code that outlives its call are limited', (t) =>
  besideNeighbour(t, { output: OUTPUT, calls: CALLS, outliving: OUTLIVING }, { wallMs: 2_000 }),
)
