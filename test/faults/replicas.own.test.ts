/** Two replicas over one PostgreSQL and one Redis: one clock is wrong, everything is killed, a standby takes over. */
import t from 'tap'
import { postgresMissing } from '../kit/postgres.ts'
import { noRedis } from '../kit/redis.ts'
import { checkClocks } from './clocks.ts'
import { checkFailover } from './failover.ts'
import { checkKills } from './kills.ts'
import { createShiftedClock } from './shifted-clock.ts'
import { startFaultWorld } from './world.ts'

t.test('two replicas', { skip: postgresMissing({ own: true }) || (await noRedis()) }, async (t) => {
  const clock = createShiftedClock(t)
  const shifted = { SIDEVAULT_LOG_LEVEL: 'info', ...clock.env }
  const world = await startFaultWorld(t, {
    envOf: (index) => ({ SIDEVAULT_RATE_LIMIT_PER_KEY: '60000', ...(index === 1 ? shifted : {}) }),
  })
  await t.test('with one clock off by an hour lose and repeat nothing, and delay calls briefly', (t) =>
    checkClocks(t, world, clock),
  )
  await t.test('under load lose nothing, disclose nothing and recover, whatever is killed', (t) =>
    checkKills(t, world),
  )
  await t.test('calls recover when a standby is promoted for a killed primary, under load', (t) =>
    checkFailover(t, world),
  )
})
