import t from 'tap'
import { besideNeighbour } from './beside-neighbour.ts'
import { MEMORY } from './memory.ts'

/** So long that most of them reach a limit of memory first. */
const CPU_MS = 250

t.test('memory of every kind is bounded', (t) => besideNeighbour(t, { memory: MEMORY }, { cpuMs: CPU_MS }))
