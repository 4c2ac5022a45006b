import t from 'tap'
import type { Journal } from '../../../src/audit/types.ts'
import { AppError } from '../../../src/common/errors.ts'
import { newId } from '../../../src/common/ids.ts'
import { createLog } from '../../../src/common/log.ts'
import { createIdempotency } from '../../../src/kernel/invoke/idempotency.ts'
import { createUsedTokens } from '../../../src/kernel/used-tokens.ts'
import type { Call } from '../../../src/sdk/index.ts'
import type { BeginResult } from '../../../src/store/idempotency/types.ts'
import { startTestService, testClock } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { operationOf } from '../kit.ts'

const clock = testClock()
const { store, keys, tenantId } = await startTestService(t, { openStore: openInThread, clock, plugins: [] })
let finished = 0
let abandoned = 0
/** Number of the next attempts to store a response that fail. */
let rejects = 0
let started: BeginResult | undefined
/** Result of the store in place of its own. */
let putBack: BeginResult | undefined
let append: Journal['append'] = async () => {}
const { once } = createIdempotency({
  responses: {
    ...store.idempotency,
    begin: async (response, now) => {
      started = putBack ?? (await store.idempotency.begin(response, now))
      return started
    },
    abandon: async (response, now) => {
      await store.idempotency.abandon(response, now)
      abandoned++
    },
    finish: async (response, now) => {
      if (rejects-- > 0) throw new AppError('gateway_timeout', 'Away.')
      await store.idempotency.finish(response, now)
      finished++
    },
  },
  vault: { areCurrent: async () => true },
  keys,
  journal: { append: async (records) => append(records), health: async () => {}, close: async () => {} },
  clock,
  log: createLog('test', 'silent'),
  tokenTypes: new Map(),
  processName: 'one',
})
const grants = { permissions: [], rules: [] }
const call = {
  caller: { tenantId, actorId: 'a', actorType: 'application', grants },
  now: clock.now(),
} as unknown as Call
const failing = (uncertain: boolean) => async () => {
  throw new AppError('gateway_timeout', 'Lost.', { uncertain })
}

t.test('a call that certainly failed may be repeated with its key', async (t) => {
  await t.rejects(once(operationOf(), {}, call, 'certain', failing(false)), { code: 'gateway_timeout' })
  t.equal(await once(operationOf(), {}, call, 'certain', async () => 'done'), 'done')
})

const writing = async (then: () => Promise<unknown> = async () => 'done') => {
  const shape = { name: 'things', indexes: [], lookups: [] }
  const id = newId()
  await store.records.commit(
    [{ kind: 'insert', collection: 'things', tenantId, id, record: { id }, shape }],
    clock.now(),
  )
  return then()
}
const lost = { code: 'conflict', message: /is not known.*use a new key/ }
const when = async (true_: () => boolean) => {
  while (!true_()) await new Promise(setImmediate)
}

t.test('a completed call whose response was lost is not repeated with its key, for a day', async (t) => {
  for (const [name, fails] of Object.entries({
    uncertain: failing(true),
    'on our side': failing(false),
  })) {
    const before = abandoned
    await t.rejects(
      once(operationOf(), {}, call, name, () => writing(fails)),
      { code: 'gateway_timeout' },
    )
    await when(() => abandoned > before)
    const again = () => once(operationOf(), {}, call, name, async () => t.fail('it runs'))
    await t.rejects(again(), lost)
    clock.advance(24 * 3_600_000 - 1)
    await t.rejects(again(), lost)
    clock.advance(1)
    t.equal(await once(operationOf(), {}, call, name, async () => 'anew'), 'anew')
  }
})

t.test(
  'a call that was certainly not done, with its response lost, may be repeated with its key',
  async (t) => {
    const before = abandoned
    await t.rejects(once(operationOf(), {}, call, 'lost', failing(true)), { code: 'gateway_timeout' })
    await when(() => abandoned > before)
    t.equal(await once(operationOf(), {}, call, 'lost', async () => 'done'), 'done')
  },
)

t.test('a stored response restored after its expiry is rejected', async (t) => {
  const repeat = () => once(operationOf(), {}, call, 'put back', async () => 'done')
  await repeat()
  t.equal(await repeat(), 'done')
  putBack = started
  clock.advance(24 * 3_600_000)
  await t.rejects(repeat(), { code: 'internal' })
  putBack = undefined
})

t.test('client errors are not stored, whatever was written before', async (t) => {
  const wrong = async () => {
    throw new AppError('unprocessable', 'Wrong.')
  }
  await t.rejects(
    once(operationOf(), {}, call, 'wrong', () => writing(wrong)),
    { code: 'unprocessable' },
  )
  t.equal(await once(operationOf(), {}, call, 'wrong', async () => 'right'), 'right')
})

for (const how of ['is started again', 'stays away'])
  t.test(
    `the call of a process that exits, and ${how}, may be repeated unless it wrote something`,
    async (t) => {
      const never = () => new Promise<never>(() => {})
      const keyOf = (name: string) => `${name}, ${how}`
      const started = (name: string, work: () => Promise<unknown>, operation = operationOf()) =>
        new Promise<void>((resolve) => {
          void once(operation, {}, call, keyOf(name), async () => {
            resolve()
            return work()
          })
        })
      const repeat = (name: string) =>
        once(operationOf(), {}, call, keyOf(name), async () => t.fail('it runs'))
      let wrote = false
      await started('before', never)
      await started('behind', () =>
        writing(() => {
          wrote = true
          return never()
        }),
      )
      await started('code', never, operationOf({ runsCode: true }))
      await when(() => wrote)
      await store.idempotency.abandonAllOf('another', clock.now())
      for (const name of ['before', 'behind', 'code'])
        await t.rejects(repeat(name), {
          code: 'conflict',
          grpc: 10,
          message: /is in progress/,
          retryAfter: 1,
        })
      if (how === 'stays away') clock.advance(60_000)
      else await store.idempotency.abandonAllOf('one', clock.now())
      t.equal(await once(operationOf(), {}, call, keyOf('before'), async () => 'done'), 'done')
      for (const name of ['behind', 'code']) await t.rejects(repeat(name), lost)
    },
  )

t.test('a response that the store rejects at first is stored when it recovers', async (t) => {
  rejects = 2
  const before = finished
  t.equal(await once(operationOf(), {}, call, 'later', async () => 'done'), 'done')
  await t.rejects(
    once(operationOf(), {}, call, 'later', async () => t.fail('it runs')),
    { code: 'conflict' },
  )
  while (finished === before) await new Promise((resolve) => setTimeout(resolve, 5))
  t.equal(await once(operationOf(), {}, call, 'later', async () => t.fail('it runs')), 'done')
})

t.test('a result of code is replayed only when its record is written', async (t) => {
  const operation = operationOf({
    rpc: 'Things.Run',
    http: 'POST /things/{id}/run',
    runsCode: true,
    transient: ['raw'],
    audit: { entity: 'thing', verb: 'use' },
  })
  const react = (key: string, output: object) =>
    once(operation, { id: 'a' }, { ...call, used: createUsedTokens() } as Call, key, async () => output)
  const written: unknown[] = []
  append = async (records) => void written.push(...records)
  const output = { raw: 1, tokens: 'id' }
  await react('code', output)
  await react('code without a result', { tokens: 'id' })
  t.strictSame(written, [])
  t.strictSame(await react('code', {}), output)
  t.match(written, [{ entity_type: 'thing', entity_id: 'a', operation: 'read', actor_id: 'a' }])
  t.strictSame(await react('code without a result', {}), { tokens: 'id' })
  t.equal(written.length, 1, 'ids of tokens disclose nothing')
  append = async () => {
    throw new AppError('gateway_timeout', 'Full.')
  }
  await t.rejects(react('code', {}), { code: 'gateway_timeout', message: 'Full.' })
  append = async () => {}
  t.strictSame(await react('code', {}), output)
})

t.test('a token changed before its response is stored is not shown in its old state', async (t) => {
  const service = await startTestService(t, { openStore: openInThread })
  const permissions = ['token:create', 'token:read', 'token:update']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }]
  const key = await service.application({ rules })
  const { finish } = service.store.idempotency
  let overtaken = true
  Object.assign(service.store.idempotency, {
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
