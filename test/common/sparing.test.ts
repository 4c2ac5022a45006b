import t from 'tap'
import { createSparing } from '../../src/common/sparing.ts'

t.test('of each kind one in ten seconds is said, with how many went unsaid', async (t) => {
  let now = 0
  const sparing = createSparing(() => now)
  t.equal(sparing('disk'), 0)
  t.equal(sparing('network'), 0, 'kinds do not stand for each other')
  for (let turn = 0; turn < 3; turn++) t.equal(sparing('disk'), undefined)
  now = 9_999
  t.equal(sparing('disk'), undefined)
  now = 10_000
  t.equal(sparing('disk'), 4)
  now = 20_000
  t.equal(sparing('disk'), 0, 'none since')
})
