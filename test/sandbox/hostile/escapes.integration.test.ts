import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { ERRORS, ESCAPES, POLLUTION } from './escapes.ts'
import { READING } from './snooping.ts'

t.test('code cannot escape its realm, or pollute it for others', (t) =>
  besideNeighbour(t, { escapes: ESCAPES, pollution: POLLUTION, errors: ERRORS, reading: READING }),
)
