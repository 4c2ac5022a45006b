import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { CORNERS, HANDED_OVER, OF_NODE } from './borders.ts'

t.test('hostile values passed by code affect only their author', (t) =>
  besideNeighbour(t, { handed: HANDED_OVER }),
)

t.test('unusual uses of the language and of Node end within limits', (t) =>
  besideNeighbour(t, { corners: CORNERS, node: OF_NODE }),
)
