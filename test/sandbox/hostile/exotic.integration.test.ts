import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { ENGINE, SERIALIZED, SURFACE } from './exotic.ts'

t.test('expensive and endless features of the language end within limits', (t) =>
  besideNeighbour(t, { engine: ENGINE }),
)

t.test('objects that attack serialization, and floods of the realm, end within limits', (t) =>
  besideNeighbour(t, { serialized: SERIALIZED, surface: SURFACE }, { wallMs: 3_000 }),
)
