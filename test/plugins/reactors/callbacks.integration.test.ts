import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { createCallbacks, type Pending } from '../../../plugins/reactors/callbacks.ts'
import { Callbacks, Reactors } from '../../../plugins/reactors/collections.ts'
import type { Journal } from '../../../src/audit/types.ts'
import { AppError } from '../../../src/common/errors.ts'
import { definePlugin, type PluginContext } from '../../../src/sdk/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { startReceivers, untilCommitted } from '../../kit/post-receiver.ts'
import { type Response, type ServiceOptions, startTestService, testClock } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const { startReceiver, outbound } = await startReceivers(t)

const serviceOf = async (t: Test, more: ServiceOptions = {}, config: object = {}) => {
  const service = await startTestService(t, {
    openStore: openInThread,
    ...more,
    outbound,
    configs: { reactors: { callback_delays: [0, 0, 0], ...config } },
  })
  const key = await service.application({ permissions: ['token:use', 'token:create'] })
  const reactorOf = async (code: string) =>
    (await service.call('POST', '/reactors', { body: { name: 'R', code } })).json
  const react = (id: string, body: object) => service.call('POST', `/reactors/${id}/react`, { key, body })
  return { ...service, key, reactorOf, react, until: untilCommitted(service.store) }
}

t.test('a result is posted to the callback URL, signed, until it is accepted', async (t) => {
  const receiver = await startReceiver(t, [500, 302])
  const { reactorOf, react } = await serviceOf(t, { clock: testClock(Date.now()) })
  const { id, callback_key: secret } = await reactorOf(
    'module.exports = ({ args }) => ({ raw: args, tokenize: { a: "x" } })',
  )
  const started = await react(id, { args: { n: 1 }, callback_url: receiver.url })
  t.equal(started.status, 202)
  await receiver.arrived(3)
  t.equal(receiver.posts.length, 3, 'a redirect is not followed')
  for (const { headers, text } of receiver.posts) {
    const body = JSON.parse(text)
    t.match(body, { asyncReactorRequestId: started.json.asyncReactorRequestId, raw: { n: 1 } })
    t.match(body.tokens.a, /^[0-9a-f-]{36}$/)
    const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['sidevault-signature'])) ?? []
    t.equal(mac, createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex'))
    t.strictSame(
      new Webhook(`whsec_${Buffer.from(secret).toString('base64')}`).verify(text, headers as never),
      body,
    )
    t.equal(headers['webhook-id'], body.asyncReactorRequestId)
    t.match(headers, { 'content-type': 'application/json', 'sidevault-reactor': id })
  }
})

t.test(
  'each attempt is recorded with its host before it is sent; accepted results are not sent again',
  async (t) => {
    const receiver = await startReceiver(t, [500])
    let failing = 0
    const journal = (real: Journal): Journal => ({
      health: () => real.health(),
      close: () => real.close(),
      append: (records) =>
        records.some(({ message }) => message.startsWith('Reactor result sent')) && failing-- > 0
          ? Promise.reject(new AppError('gateway_timeout', 'the disk is full'))
          : real.append(records),
    })
    const { reactorOf, react, call, key, until } = await serviceOf(t, { journal })
    const { id } = await reactorOf('module.exports = () => ({ raw: "made of values" })')
    const resultOf = (request: string) => call('GET', `/reactors/${id}/results/${request}`, { key })
    const sent = async () => {
      const { json } = await call('GET', `/logs?entity_type=reactor&entity_id=${id}`)
      return json.data.filter(({ message }: { message: string }) => message.startsWith('Reactor result sent'))
    }
    const started = await react(id, { callback_url: receiver.url })
    await receiver.arrived(2)
    const { host } = new URL(receiver.url)
    const record = { operation: 'use', actor_type: 'application', message: `Reactor result sent to ${host}` }
    t.match(await sent(), [record, record])
    await until(async () => (await resultOf(started.json.asyncReactorRequestId)).status === 404)

    failing = 2
    await react(id, { callback_url: receiver.url })
    await receiver.arrived(3)
    t.equal(receiver.posts.length, 3, 'an attempt that cannot be recorded sends nothing')
    t.equal((await sent()).length, 3)
  },
)

/** When the callback of a started invocation is due. */
const dueOf = async ({ records }: Store, tenantId: string, started: Response): Promise<number> => {
  const row = await records.get('reactor_callbacks', tenantId, started.json.asyncReactorRequestId)
  return JSON.parse(row?.body ?? '{}').due
}

t.test('another process continues the callbacks of a process that stopped', async (t) => {
  const receiver = await startReceiver(t, [500])
  const late = await startReceiver(t, [])
  const clock = testClock()
  const config = { callback_delays: [0, 60], async_lease: 1 }
  const first = await serviceOf(t, { clock }, config)
  await serviceOf(t, { beside: first }, config)
  const quick = await first.reactorOf('module.exports = () => ({ raw: 1 })')
  const slow = await first.reactorOf(
    'module.exports = () => new Promise((resolve) => setTimeout(resolve, 25_000, { raw: 2 }))',
  )
  await first.react(slow.id, { callback_url: late.url })
  const started = await first.react(quick.id, { callback_url: receiver.url })
  await receiver.arrived(1)
  await first.until(async () => (await dueOf(first.store, first.tenantId, started)) === clock.now() + 60_000)
  await first.kernel.stop()
  clock.advance(60_000)
  await receiver.arrived(2)
  await late.arrived(1)
  t.match(JSON.parse(receiver.posts[1]?.text ?? ''), { raw: 1 })
  t.match(JSON.parse(late.posts[0]?.text ?? ''), { error: { status: 504, code: 'gateway_timeout' } })
})

/** Makes calls of the store about a collection fail while `isAway`. Returns the calls that failed. */
const takeAway = ({ records }: Store, collection: string, isAway: () => boolean): string[] => {
  const { get, commit } = records
  const failed: string[] = []
  const fail = (call: string) => {
    failed.push(call)
    throw new AppError('overloaded', 'The store cannot be reached.')
  }
  Object.assign(records, {
    get: async (...given: Parameters<typeof get>) =>
      given[0] === collection && isAway() ? fail('get') : get(...given),
    commit: async (...given: Parameters<typeof commit>) =>
      given[0].some((mutation) => mutation.collection === collection) && isAway()
        ? fail('commit')
        : commit(...given),
  })
  return failed
}

t.test('a callback that is due while the store is away is posted afterwards', async (t) => {
  const receiver = await startReceiver(t, [500])
  const clock = testClock()
  const service = await serviceOf(t, { clock }, { callback_delays: [0, 1], async_lease: 1 })
  const { reactorOf, react, store, tenantId, until } = service
  const { id } = await reactorOf('module.exports = () => ({ raw: 1 })')
  const started = await react(id, { callback_url: receiver.url })
  await receiver.arrived(1)
  await until(async () => (await dueOf(store, tenantId, started)) === clock.now() + 1_000)
  clock.advance(1_000)
  const failed = takeAway(store, 'reactor_callbacks', () => failed.length < 2)
  await receiver.arrived(2)
  t.equal(failed.length, 2)
})

/** `takeAway` for the records of the next invocation, once it has started. */
const takeAwayAfterStart = (store: Store, isAway: (failed: number) => boolean): string[] => {
  let started = false
  const failed = takeAway(store, 'reactor_requests', () => started && isAway(failed.length))
  const { commit } = store.records
  Object.assign(store.records, {
    commit: async (...args: Parameters<typeof commit>) => {
      await commit(...args)
      started ||= args[0].some(({ collection }) => collection === 'reactor_requests')
    },
  })
  return failed
}

t.test('the result of a reactor that ends while the store is away is posted afterwards', async (t) => {
  const receiver = await startReceiver(t, [])
  const { reactorOf, react, store } = await serviceOf(t, {}, { async_lease: 1 })
  const { id } = await reactorOf('module.exports = () => ({ raw: 1 })')
  const failed = takeAwayAfterStart(store, (count) => count < 6)
  await react(id, { callback_url: receiver.url })
  await receiver.arrived(1)
  t.match(JSON.parse(receiver.posts[0]?.text ?? ''), { raw: 1 })
  t.equal(failed.length, 6)
})

t.test('another process posts the failure of an invocation whose lease has ended', async (t) => {
  const receiver = await startReceiver(t, [])
  const clock = testClock()
  const config = { async_lease: 1 }
  const first = await serviceOf(t, { clock }, config)
  await serviceOf(t, { beside: first }, config)
  const { id } = await first.reactorOf('module.exports = () => ({ raw: 1 })')
  takeAwayAfterStart(first.store, () => true)
  await first.react(id, { callback_url: receiver.url })
  clock.advance(1_000)
  await receiver.arrived(1)
  t.match(JSON.parse(receiver.posts[0]?.text ?? ''), { error: { status: 504, code: 'gateway_timeout' } })
})

t.test('a failure is posted too', async (t) => {
  const receiver = await startReceiver(t, [])
  const { reactorOf, react } = await serviceOf(t)
  const { id } = await reactorOf('module.exports = () => { throw new Error("no such order") }')
  await react(id, { callback_url: receiver.url })
  await receiver.arrived(1)
  t.match(JSON.parse(receiver.posts[0]?.text ?? ''), { error: { status: 400, detail: /no such order/ } })
})

t.test('keys and results are encrypted at rest', async (t) => {
  const { reactorOf, react, store, tenantId, until } = await serviceOf(t)
  const { id, callback_key: secret } = await reactorOf('module.exports = () => ({ raw: "plain-4242" })')
  const started = await react(id, { callback_url: 'https://receiver.test:1/' })
  const request: string = started.json.asyncReactorRequestId
  const row = () => store.records.get('reactor_requests', tenantId, request)
  await until(async () => (await row())?.body.includes('$sealed') ?? false)
  const text = JSON.stringify([await row(), await store.records.get('reactors', tenantId, id)])
  for (const hidden of [secret, 'plain-4242', 'module.exports']) t.notMatch(text, hidden)
})

/** The kernel as the plugin sees it, with a reactor and no code. */
const kernelOf = async (t: Test) => {
  const clock = testClock()
  let pluginContext: PluginContext | undefined
  const sample = definePlugin({
    api: 1,
    name: 'reactors',
    version: '1.0.0',
    setup: (context) => {
      pluginContext = context
      return { collections: [Reactors, Callbacks] }
    },
  })
  const service = await startTestService(t, { openStore: openInThread, clock, outbound, plugins: [sample] })
  if (pluginContext === undefined) throw new Error('the plugin was not set up')
  const { tenantId } = service
  const record = { callback_key: 'key', configuration: {}, created_by: 'x', created_at: 0 }
  await pluginContext.records(Reactors).insert(tenantId, { id: 'reactor', name: 'R', ...record })
  const waits = (url: string, more: object = {}) =>
    pluginContext!.records(Callbacks).insert(tenantId, {
      id: 'request',
      reactor_id: 'reactor',
      url,
      attempts: 0,
      due: clock.now(),
      expires_at: clock.now() + 86_400_000,
      ...more,
    })
  const waiting = () => pluginContext!.records(Callbacks).get(tenantId, 'request')
  const origin = { caller: { tenantId, actorId: 'a', actorType: 'application' }, traceId: 't' }
  const result = async (): Promise<Pending> => ({ body: { raw: 1 }, origin })
  const process = (delays = [0, 0, 0], of = result) => {
    const stop = new AbortController()
    const results = { of, drop: async () => true, isRunning: () => false }
    return { stop, ...createCallbacks(pluginContext!, { delays, results, signal: stop.signal }) }
  }
  return {
    clock,
    store: service.store,
    tenantId,
    waits,
    waiting,
    result,
    process,
    until: untilCommitted(service.store),
  }
}

t.test('the next process delivers the results of one that exited, in time', async (t) => {
  const receiver = await startReceiver(t, [500])
  const { clock, waits, waiting, process, until } = await kernelOf(t)
  await waits(receiver.url)
  const first = process([0, 600_000])
  await first.resume()
  await receiver.arrived(1)
  await until(async () => (await waiting())?.due === clock.now() + 600_000)
  first.stop.abort()
  await first.settled()
  clock.advance(600_000)
  const second = process([0, 600_000])
  await second.resume()
  await second.settled()
  t.equal(receiver.posts.length, 2)
  t.equal(await waiting(), undefined)
})

t.test('callback URLs are encrypted at rest', async (t) => {
  const { store, tenantId, waits } = await kernelOf(t)
  await waits('https://receiver.test/hook-7f3a91c2')
  const row = await store.records.get('reactor_callbacks', tenantId, 'request')
  t.match(JSON.parse(row!.body), { reactor_id: 'reactor', attempts: 0 })
  t.notMatch(JSON.stringify(row), '7f3a91c2')
})

t.test('each attempt is made by one process only', async (t) => {
  const receiver = await startReceiver(t, [])
  const { waits, waiting, process, until } = await kernelOf(t)
  await waits(receiver.url)
  const processes = Array.from({ length: 5 }, () => process())
  await Promise.all(processes.map((each) => each.resume()))
  await receiver.arrived(1)
  await until(async () => (await waiting()) === undefined)
  for (const { stop } of processes) stop.abort()
  await Promise.all(processes.map((each) => each.settled()))
  t.equal(receiver.posts.length, 1)
})

t.test('a callback waits for its invocation without an attempt', async (t) => {
  const receiver = await startReceiver(t, [])
  const { clock, waits, waiting, result, process } = await kernelOf(t)
  await waits(receiver.url)
  let renewals = 3
  const { resume, settled } = process([0], async () =>
    renewals-- > 0 ? { runningUntil: clock.now() + 10 } : result(),
  )
  await resume()
  await settled()
  t.equal(receiver.posts.length, 1)
  t.equal(await waiting(), undefined)
})

t.test('delivery stops after the last attempt', async (t) => {
  const receiver = await startReceiver(t, [500, 500, 500, 500])
  const { waits, waiting, process } = await kernelOf(t)
  await waits(receiver.url)
  const { resume, settled } = process([0, 0])
  await resume()
  await settled()
  t.equal(receiver.posts.length, 2)
  t.equal(await waiting(), undefined)
})
