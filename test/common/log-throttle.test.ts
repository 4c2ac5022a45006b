import t from 'tap'
import { createLogThrottle } from '../../src/common/log-throttle.ts'

t.test('one line of each kind is logged in ten seconds, with the number of suppressed ones', async (t) => {
  let now = 0
  const throttle = createLogThrottle(() => now)
  t.equal(throttle('disk'), 0)
  t.equal(throttle('network'), 0, 'kinds do not stand for each other')
  for (let turn = 0; turn < 3; turn++) t.equal(throttle('disk'), undefined)
  now = 9_999
  t.equal(throttle('disk'), undefined)
  now = 10_000
  t.equal(throttle('disk'), 4)
  now = 20_000
  t.equal(throttle('disk'), 0, 'none since')
})
