import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createLog } from '../../src/common/log.ts'
import { createIdempotency } from '../../src/kernel/idempotency.ts'
import type { Call } from '../../src/sdk/index.ts'
import { startTestService, testClock } from '../kit/service.ts'
import { operationOf } from './kit.ts'

const clock = testClock()
const { store, keys, tenantId } = await startTestService(t, { clock, plugins: [] })
let finishes = 0
const { once } = createIdempotency({
  answers: {
    begin: (answer, now) => store.answers.begin(answer, now),
    abandon: (answer) => store.answers.abandon(answer),
    finish: async (answer, now) => {
      await store.answers.finish(answer, now)
      finishes++
    },
  },
  keys,
  journal: { append: async () => {}, health: async () => {}, close: async () => {} },
  clock,
  log: createLog('test', 'silent'),
  tokenTypes: new Map(),
})
const call = { caller: { tenantId, actorId: 'a', actorType: 'application' }, now: clock.now() } as Call
const failing = (uncertain: boolean) => async () => {
  throw new AppError('unavailable', 'Lost.', { uncertain })
}

t.test('what failed for certain may be repeated with its key', async (t) => {
  await t.rejects(once(operationOf(), call, 'certain', failing(false)), { code: 'unavailable' })
  t.equal(await once(operationOf(), call, 'certain', async () => 'done'), 'done')
})

t.test('what may have been done is not done again with its key, for a day', async (t) => {
  const before = finishes
  await t.rejects(once(operationOf(), call, 'lost', failing(true)), { code: 'unavailable' })
  const again = () => once(operationOf(), call, 'lost', async () => t.fail('it runs'))
  await t.rejects(again(), { code: 'conflict' })
  while (finishes === before) await new Promise(setImmediate)
  clock.advance(24 * 3_600_000 - 1)
  await t.rejects(again(), { code: 'conflict', message: /is not known.*use a new key/ })
})
