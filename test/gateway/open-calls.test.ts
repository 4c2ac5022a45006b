import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createShares } from '../../src/common/shares.ts'
import { CALL_BYTES, GUARDED_CALL_BYTES } from '../../src/control-plane/limits.ts'
import type { CallEnd } from '../../src/gateway/call-end.ts'
import { HeldMemory } from '../../src/gateway/held-memory.ts'
import { OpenCalls } from '../../src/gateway/open-calls.ts'
import type { RequestTelemetry } from '../../src/gateway/request-record.ts'
import { createFarSide } from '../kit/egress.ts'

/** A call whose caller is known, and how often it ended. */
const setUp = (t: Test) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  t.teardown(() => mock.timers.reset())
  const clock = mock.method(performance, 'now', () => now)
  t.teardown(() => clock.mock.restore())
  const seen: string[] = []
  const telemetry = {
    label: { tenantId: 'tenant', actorId: 'a', actorType: 'application', traceId: 't', method: 'GET' },
    isFinished: false,
    ended: () => seen.push('ended'),
    lost: () => seen.push('lost'),
  }
  const calls = new OpenCalls(0, createFarSide().deps)
  const expected = calls.expect(telemetry as unknown as RequestTelemetry)
  if (expected === undefined) throw new Error('the caller is known')
  return {
    calls,
    seen,
    telemetry,
    id: expected.id,
    end: { call: expected.mark.call } as CallEnd,
    release: () => seen.push('released'),
    pass: (ms: number) => {
      now += ms
      mock.timers.tick(5_000)
    },
  }
}

t.test('a call without a log entry is lost 10 s after its stream, a guarded one after 310 s', async (t) => {
  for (const [isGuarded, ms] of [
    [false, 10_000],
    [true, 310_000],
  ] as const)
    await t.test(`${ms} ms`, async (t) => {
      const { calls, id, seen, release, pass } = setUp(t)
      pass(1_000_000)
      t.same(seen, [], 'its stream is open')
      calls.closed(id, isGuarded ? release : undefined)
      pass(ms)
      t.same(seen, [])
      pass(1)
      t.same(seen, isGuarded ? ['released', 'lost'] : ['lost'])
    })
})

t.test('what a guarded call holds is released when its log entry comes', async (t) => {
  const { calls, id, seen, release, end } = setUp(t)
  calls.closed(id, release)
  t.same(seen, [])
  calls.ended(end)
  t.same(seen, ['released', 'ended'])
})

t.test('it is released at once when the call has ended', async (t) => {
  const { calls, id, end, release, seen } = setUp(t)
  calls.ended(end)
  calls.closed(id, release)
  t.same(seen, ['ended', 'released'])
})

t.test('it is released at once when the call was rejected', async (t) => {
  const { calls, id, telemetry, release, seen } = setUp(t)
  telemetry.isFinished = true
  calls.closed(id, release)
  t.same(seen, ['released'])
})

t.test('a guarded call counts for its windows, also after its stream', async (t) => {
  const shares = createShares(2 ** 30, '')
  const memory = new HeldMemory(shares, 1_000)
  memory.take('tenant', 500, true)
  t.equal(shares.held, GUARDED_CALL_BYTES + 500)
  const release = memory.outlive()
  t.equal(shares.held, GUARDED_CALL_BYTES)
  memory.resize(5_000)
  t.equal(shares.held, GUARDED_CALL_BYTES, 'nothing is taken any more')
  release?.()
  t.equal(shares.held, 0)
  const other = new HeldMemory(shares, 1_000)
  other.take('tenant', 500)
  t.equal(shares.held, CALL_BYTES + 500)
  t.equal(other.outlive(), undefined)
  t.equal(shares.held, 0)
})
