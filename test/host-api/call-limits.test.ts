import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createCallLimits } from '../../src/host-api/call-limits.ts'

const { signal } = new AbortController()

/** Work that ends on request, and the numbers of what runs and ran. */
const gate = () => {
  const waiting: (() => void)[] = []
  const state = { running: 0, most: 0, started: 0 }
  const work = async () => {
    state.running++
    state.started++
    state.most = Math.max(state.most, state.running)
    await new Promise<void>((resolve) => waiting.push(resolve))
    state.running--
  }
  const endAll = async (isDone: () => boolean) => {
    while (!isDone()) {
      for (const end of waiting.splice(0)) end()
      await turn()
    }
  }
  return { state, work, endAll }
}

const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await turn()
}

t.test('four calls of an invocation and eight of a tenant run at once, the others wait', async (t) => {
  const limits = createCallLimits()
  const { state, work, endAll } = gate()
  const run = (tenantId: string, count: number) => {
    const limited = limits(tenantId)
    return Array.from({ length: count }, () => limited('vault', signal, work))
  }
  const calls = run('a', 60)
  await turns(100)
  t.equal(state.running, 4)
  for (let i = 0; i < 4; i++) calls.push(...run('a', 60))
  await turns(100)
  t.equal(state.running, 8)
  calls.push(...run('b', 1))
  await turns(10)
  t.equal(state.running, 9, 'another tenant does not wait')
  let isDone = false
  const all = Promise.all(calls).then(() => {
    isDone = true
  })
  await endAll(() => isDone)
  await all
  t.equal(state.started, 301)
  t.equal(state.most, 9)
})

t.test('a call of the code begins in a turn of the event loop of its own', async (t) => {
  const limits = createCallLimits()
  let started = 0
  const calls = Array.from({ length: 8 }, (_, i) =>
    limits(`t${i}`)('vault', signal, async () => {
      started++
    }),
  )
  for (let before = 0; before < 8; before = started) {
    await turn()
    t.ok(started - before <= 1)
  }
  await Promise.all(calls)
})

t.test('reactors hold no place: the calls of a nested one would wait for its own', async (t) => {
  const limits = createCallLimits()
  const outer = limits('a')
  const nested = () => limits('a')('vault', signal, async () => 1)
  const results = await Promise.all(Array.from({ length: 20 }, () => outer('code', signal, nested)))
  t.equal(results.length, 20)
})

t.test('a tenant beyond its share gets 429, and others continue', async (t) => {
  const limits = createCallLimits()
  const { state, work, endAll } = gate()
  const calls = Array.from({ length: 700 }, () => limits('a')('vault', signal, work))
  let settled = false
  const all = Promise.allSettled(calls).then((outcomes) => {
    settled = true
    return outcomes
  })
  const other = limits('b')('vault', signal, work)
  await endAll(() => settled && state.running === 0)
  const rejected = (await all).flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  t.equal(rejected.length, 700 - 512)
  t.match(rejected[0], { code: 'rate_limited', retryAfter: 1 })
  await t.resolves(other)
  const again = limits('a')('vault', signal, async () => 1)
  t.equal(await again, 1, 'released')
})

t.test('calls that wait when their invocation ends do not run', async (t) => {
  const limits = createCallLimits()
  const controller = new AbortController()
  const { state, work, endAll } = gate()
  const limited = limits('a')
  const calls = Array.from({ length: 10 }, () => limited('vault', controller.signal, work))
  let settled = false
  const all = Promise.allSettled(calls).then(() => {
    settled = true
  })
  await turns(20)
  controller.abort()
  await endAll(() => settled)
  await all
  t.equal(state.started, 4)
})
