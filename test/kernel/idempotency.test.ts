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

t.test('a token that is changed before its answer is kept is not shown as it was', async (t) => {
  const service = await startTestService(t)
  const permissions = ['token:create', 'token:read', 'token:update']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }]
  const key = await service.application({ rules })
  const { finish } = service.store.answers
  let overtaken = true
  Object.assign(service.store.answers, {
    finish: async (...args: Parameters<typeof finish>) => {
      const [id] = args[0].shown?.tokens.map((token) => token.id) ?? []
      if (overtaken) await service.call('PATCH', `/tokens/${id}`, { key, body: { data: 'newer' } })
      return finish(...args)
    },
  })
  const create = (name: string) =>
    service.call('POST', '/tokens', {
      key,
      body: { data: 'older' },
      headers: { 'svc-idempotency-key': name },
    })
  t.match((await create('overtaken')).json, { data: 'older' })
  const { json } = await create('overtaken')
  t.match(json, { id: String, type: 'token' })
  t.notOk('data' in json)
  overtaken = false
  await create('left alone')
  t.match((await create('left alone')).json, { data: 'older' })
})
