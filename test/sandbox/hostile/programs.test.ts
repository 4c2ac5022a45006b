import t from 'tap'
import { CORNERS, HANDED_OVER, OF_NODE } from './borders.ts'
import { ERRORS, ESCAPES, POLLUTION } from './escapes.ts'
import { ENGINE, SERIALIZED, SURFACE } from './exotic.ts'
import { CPU, NATIVE } from './loops.ts'
import { MEMORY } from './memory.ts'
import { CALLS, OUTLIVING, OUTPUT } from './output.ts'
import { READING } from './snooping.ts'

t.test('there are at least 260 hostile programs, all distinct', async (t) => {
  const all = [
    CPU,
    NATIVE,
    MEMORY,
    OUTPUT,
    CALLS,
    OUTLIVING,
    ESCAPES,
    POLLUTION,
    ERRORS,
    READING,
    ENGINE,
    SERIALIZED,
    SURFACE,
    HANDED_OVER,
    CORNERS,
    OF_NODE,
  ].flat()
  t.ok(all.length >= 260, `${all.length} programs`)
  t.equal(new Set(all.map(({ code }) => code)).size, all.length)
})
