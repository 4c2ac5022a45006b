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
