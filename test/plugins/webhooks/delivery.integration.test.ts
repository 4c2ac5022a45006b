import { isIPv4 } from 'node:net'
import { Registry } from '@prometheus-io/client'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { createLog } from '../../../src/common/log.ts'
import { createTasks } from '../../../src/kernel/tasks/tasks.ts'
import { METADATA, PRIVATE } from '../../kit/forbidden-addresses.ts'
import { startReceivers, untilCommitted } from '../../kit/post-receiver.ts'
import { startTestService, testClock } from '../../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../../kit/sidevault.ts'

/** Seconds before each repetition: "5 s, 30 s, 2 m, 10 m, 30 m, 1 h, 2 h, 5 h, 10 h, 24 h". */
const DELAYS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 18_000, 36_000, 86_400].map(
  (seconds) => seconds * 1_000,
)
const FIVE_DAYS = 5 * 86_400_000

const { dns, startReceiver, outbound } = await startReceivers(t)
const ALL = [
  'token.created',
  'token.deleted',
  'webhook.created',
  'webhook.disabled',
  'application.key_created',
]

/** A service whose consumers run when `deliver` is called. Signatures have the time of the machine. */
const world = async (t: Test, allow: readonly string[] = outbound.allow) => {
  const clock = testClock(Date.now())
  // Not in this thread, where reads see halves of concurrent commits.
  const service = await startTestService(t, { clock, outbound: { ...outbound, allow } })
  const { call, store, kernel } = service
  const { tasks } = kernel.registry
  const log = createLog('test', 'silent')
  const running = createTasks({ store, tasks, registry: new Registry(), log }, 'test')
  t.teardown(() => running.stop())
  await running.round()
  const job = tasks.flatMap((task) =>
    task.kind === 'job' && task.plugin === 'webhooks' ? [task.job] : [],
  )[0]
  const key = await service.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const create = async (url: string, more: object = {}) => {
    const { status, text, json } = await call('POST', '/webhooks', {
      body: { name: 'W', url, events: ALL, ...more },
    })
    if (status !== 201) throw new Error(text)
    return json
  }
  const read = async (id: string) => (await call('GET', `/webhooks/${id}`)).json
  const deliveries = async (id: string) => {
    const { status, text, json } = await call('GET', `/webhooks/${id}/deliveries?size=100`)
    if (status !== 200) throw new Error(text)
    return json.data
  }
  const until = untilCommitted(store)
  return {
    ...service,
    ...{ clock, create, read, deliveries, until },
    token: async (body: object = {}) =>
      (await call('POST', '/tokens', { key, body: { data: 'secret-4242', ...body } })).json.id as string,
    deleteToken: (id: string) => call('DELETE', `/tokens/${id}`, { key }),
    /** All that was recorded gets to the consumer. */
    deliver: async () => {
      await call('GET', '/logs?size=1')
      await running.round()
    },
    /** What is due is sent. */
    retry: () => job?.run(new AbortController().signal),
    /** Resolves when a webhook has so many deliveries, all of this status. */
    settled: (id: string, count: number, status: string) =>
      until(async () => {
        const all: { status: string }[] = await deliveries(id)
        return all.length === count && all.every((delivery) => delivery.status === status)
      }),
    /** Resolves when the outcome of an attempt at the time of the clock is stored. */
    attempted: (id: string) =>
      until(async () => {
        const [delivery] = await deliveries(id)
        return Date.parse(delivery?.last_attempt?.at) === clock.now()
      }),
  }
}

const eventOf = ({ text }: { text: string }) => JSON.parse(text).event

t.test('an event is posted with its entity and actor, and signed as Standard Webhooks says', async (t) => {
  const { create, token, deliver, tenantId, settled, read, call } = await world(t)
  const receiver = await startReceiver(t, [])
  const { id, secret } = await create(receiver.url)
  await deliver()
  const tokenId = await token({
    type: 'card',
    data: { number: '4242424242424242' },
    metadata: { order: '7' },
  })
  await deliver()
  await receiver.arrived(2)
  const post = receiver.posts.find((each) => eventOf(each).type === 'token.created')
  if (post === undefined) throw new Error('no event of the token')
  const headers = post.headers as Record<string, string>
  t.strictSame(new Webhook(secret).verify(post.text, headers), JSON.parse(post.text))
  t.throws(() => new Webhook(secret).verify(`${post.text} `, headers))
  const event = eventOf(post)
  t.equal(headers['webhook-id'], event.id)
  t.equal(headers['content-type'], 'application/json')
  const { data: logs } = (await call('GET', '/logs?entity_type=card')).json
  t.strictSame(event, {
    id: event.id,
    type: 'token.created',
    timestamp: logs[0].created_at,
    tenant_id: tenantId,
    trace_id: logs[0].trace_id,
    data: {
      token: { id: tokenId, type: 'card' },
      actor: { id: logs[0].actor_id, type: 'application' },
    },
  })
  t.notMatch(receiver.posts.map(({ text }) => text).join(), /4242|order/)
  await settled(id, 2, 'delivered')
  t.notOk('failing_since' in (await read(id)))
})

t.test('records that are delivered to the consumer again are not sent again', async (t) => {
  const { create, token, deliver, deliveries, settled, kernel, call, tenantId } = await world(t)
  const receiver = await startReceiver(t, [])
  const { id } = await create(receiver.url, { events: ['token.created'] })
  const tokenId = await token()
  await deliver()
  await settled(id, 1, 'delivered')
  const consumer = kernel.registry.tasks.flatMap((task) =>
    task.kind === 'consumer' ? [task.consumer] : [],
  )[0]
  const entry = {
    ...{ position: 1, tenant_id: tenantId, actor_id: null, actor_type: null, trace_id: 't', created_at: 1 },
    ...{ entity_type: 'token', entity_id: tokenId, operation: 'create', message: 'Token created' },
  }
  const { signal } = new AbortController()
  await consumer?.handle([entry], signal)
  await settled(id, 2, 'delivered')
  await consumer?.handle([entry, { ...entry, position: 2 }], signal)
  await settled(id, 3, 'delivered')
  t.equal(receiver.posts.length, 3)
  const ids = (await deliveries(id)).map(({ event_id }: { event_id: string }) => event_id)
  t.equal(new Set(ids).size, 3)
  t.equal((await call('DELETE', '/tenants/self')).status, 204)
  await consumer?.handle([{ ...entry, position: 3 }], signal)
})

t.test('"include_metadata" adds the metadata of tokens, and nothing else of them', async (t) => {
  const { create, token, deleteToken, deliver } = await world(t)
  const receiver = await startReceiver(t, [])
  await create(receiver.url, {
    events: ['token.created', 'token.deleted', 'token.read'],
    include_metadata: true,
  })
  const id = await token({ metadata: { order: '7' } })
  await deliver()
  await receiver.arrived(1)
  t.strictSame(eventOf(receiver.posts[0]!).data.token, { id, type: 'token', metadata: { order: '7' } })
  await deliver()
  await deleteToken(id)
  await deliver()
  await receiver.arrived(2)
  t.match(eventOf(receiver.posts[1]!), { type: 'token.deleted', data: { token: { id } } })
  t.equal(receiver.posts.length, 2, 'reads of the webhook are no events')
  t.notMatch(receiver.posts.map(({ text }) => text).join(), 'secret-4242')
})

t.test('an attempt that fails is repeated in time, each with the same id', async (t) => {
  const { create, token, deliver, retry, clock, settled, attempted, until, read, deliveries } = await world(t)
  const receiver = await startReceiver(t, [500, 302, 404])
  const { id } = await create(receiver.url, { events: ['token.created'] })
  await token()
  await deliver()
  for (const [index, delay] of DELAYS.slice(0, 3).entries()) {
    await attempted(id)
    const [{ next_attempt_at, last_attempt, attempts }] = await deliveries(id)
    t.strictSame([last_attempt.status, attempts], [[500, 302, 404][index], index + 1])
    const wait = Date.parse(next_attempt_at) - clock.now()
    t.ok(wait >= delay * 0.8 && wait <= delay * 1.2, `${wait} ms for ${delay}`)
    await until(async () => 'failing_since' in (await read(id)))
    clock.advance(wait - 1)
    await retry()
    t.equal(receiver.posts.length, index + 1, 'not before it is due')
    clock.advance(1)
    await retry()
    await receiver.arrived(index + 2)
  }
  await settled(id, 1, 'delivered')
  const { headers } = receiver.posts[0]!
  t.ok(receiver.posts.every((post) => post.headers['webhook-id'] === headers['webhook-id']))
  await until(async () => !('failing_since' in (await read(id))))
})

t.test('the eleventh failure of an event is its last', async (t) => {
  const { create, token, deliver, retry, clock, settled, attempted } = await world(t)
  const receiver = await startReceiver(t, Array(11).fill(500))
  const { id } = await create(receiver.url, { events: ['token.created'] })
  await token()
  await deliver()
  for (const [index, delay] of DELAYS.entries()) {
    await receiver.arrived(index + 1)
    await attempted(id)
    clock.advance(delay * 1.2)
    await retry()
  }
  await settled(id, 1, 'failed')
  t.equal(receiver.posts.length, 11)
})

t.test('410 disables a webhook, and the others are notified', async (t) => {
  const { create, token, deliver, read, until, call } = await world(t)
  const gone = await startReceiver(t, [410])
  const other = await startReceiver(t, [])
  const { id } = await create(gone.url, { events: ['token.created'] })
  await create(other.url, { events: ['webhook.disabled'] })
  await token()
  await deliver()
  await until(async () => (await read(id)).status === 'disabled')
  while ((await call('GET', `/logs?entity_id=${id}&operation=disable`)).json.data.length === 0);
  await token()
  await deliver()
  await other.arrived(1)
  t.match(eventOf(other.posts[0]!), {
    type: 'webhook.disabled',
    data: { webhook: { id }, actor: { id, type: 'webhook' } },
  })
  t.equal(gone.posts.length, 1, 'a disabled webhook gets no events')
})

t.test('five days without a success disable a webhook', async (t) => {
  const { create, token, deliver, read, until, clock } = await world(t)
  const receiver = await startReceiver(t, [500, 500])
  const { id } = await create(receiver.url, { events: ['token.created'] })
  await token()
  await deliver()
  await until(async () => (await read(id)).failing_since !== undefined)
  clock.advance(FIVE_DAYS)
  await token()
  await deliver()
  await until(async () => (await read(id)).status === 'disabled')
})

t.test('a receiver that never responds delays no other', async (t) => {
  const { create, token, deliver } = await world(t)
  const silent = await startReceiver(t, Array(100).fill(0))
  const other = await startReceiver(t, [])
  await create(silent.url, { events: ['token.created'] })
  await create(other.url, { events: ['token.created'] })
  for (let count = 0; count < 20; count++) await token()
  await deliver()
  await other.arrived(20)
  t.equal(silent.posts.length, 4, 'four at a time')
})

t.test(
  'no address that may not be dialed is dialed when the name of a webhook leads to it later',
  async (t) => {
    const { create, token, deliver, attempted, deliveries, call } = await world(t, [])
    dns.set('moved.test', { a: ['8.8.8.8'] })
    const { id } = await create('https://moved.test/', { events: ['token.created'] })
    for (const address of [...METADATA, ...PRIVATE]) {
      dns.set('moved.test', isIPv4(address) ? { a: [address] } : { aaaa: [address] })
      const { json } = await call('POST', `/webhooks/${id}/ping`)
      t.match(json, { status: 'failed', last_attempt: { error: 'destination_not_allowed' } }, address)
    }
    await token()
    await deliver()
    await attempted(id)
    t.match(await deliveries(id), [{ status: 'pending', last_attempt: { error: 'destination_not_allowed' } }])
  },
)
