import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createGcPressure } from '../../src/common/gc-pressure.ts'

t.test('a minor collection runs each time that enough bytes were received', async (t) => {
  let collections = 0
  const gcPressure = createGcPressure(({ type }) => {
    t.equal(type, 'minor')
    collections++
  }, 100)
  const seen = [60, 60, 90, 5, 5, 1_000, 99, 1].map((bytes) => {
    gcPressure(bytes)
    return collections
  })
  t.strictSame(seen, [0, 1, 1, 1, 2, 3, 3, 4])
})

t.test('memory of bodies is freed at once', async (t) => {
  const gcPressure = createGcPressure()
  const outside = () => process.memoryUsage().arrayBuffers
  const before = outside()
  for (let count = 0; count < 32; count++) Buffer.allocUnsafe(1_048_576).fill(1)
  t.ok(outside() - before > 30_000_000)
  gcPressure(30_000_000)
  // Freed on another thread.
  while (outside() - before > 5_000_000) await turn()
  t.equal('gc' in globalThis, false)
})
