import t from 'tap'
import type { Planned } from '../../../src/gateway/request.ts'
import type { RequestContext } from '../../../src/gateway/request-context.ts'
import { check, checkResponse, checkTunnel } from '../../../src/gateway/steps/check.ts'

t.test('without a check of a plugin each step returns its input, at once', async (t) => {
  const context = { gateway: { checks: undefined } } as RequestContext
  for (const step of [check, checkTunnel, checkResponse] as const) {
    const input = {} as Planned
    t.equal((step as unknown as typeof check)(input, context), input)
  }
})

t.test('checks of a call have 5 s together', async (t) => {
  let now = 0
  const limits: number[] = []
  const slow = {
    ...{ name: 'slow', on: 'request', fail: 'open' },
    run: async (_: unknown, limit: number) => {
      limits.push(limit)
      now += 2_000
      return { verdict: 'timed_out', ms: 2_000 }
    },
  }
  const context = {
    gateway: { checks: { request: Array(4).fill(slow) }, deps: { steadyClock: { now: () => now } } },
    telemetry: {},
  } as unknown as RequestContext
  const request = { caller: {}, destination: {} } as unknown as Planned
  t.equal(await check(request, context), request)
  t.strictSame(limits, [5_000, 3_000, 1_000, 0])
})
