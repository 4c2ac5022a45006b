import t from 'tap'
import { createResponseBudget } from '../../src/host-api/response-budget.ts'

const MIB = 1024 * 1024
const fetched = () => createResponseBudget({ invocation: 2 * MIB, all: 6 * MIB })

t.test('an invocation has its own budget, independent of others', async (t) => {
  const { take } = fetched()
  const { signal } = new AbortController()
  take('a', signal, MIB)
  take('a', signal, MIB)
  t.throws(() => take('a', signal, 1), { code: 'too_large' })
  take('a', new AbortController().signal, MIB)
})

t.test('a tenant leaves capacity to others, and ended invocations release theirs', async (t) => {
  const { take } = fetched()
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
  take('a', first.signal, 2 * MIB)
  take('a', second.signal, MIB)
  t.throws(() => take('a', second.signal, 1), { code: 'rate_limited', retryAfter: 1 })
  take('b', third.signal, MIB)
  first.abort()
  take('a', second.signal, MIB)
  take('c', new AbortController().signal, 1)
})

t.test('an ended invocation holds no budget', async (t) => {
  const all = fetched()
  const controllers = Array.from({ length: 4 }, () => new AbortController())
  for (const [index, { signal }] of controllers.entries()) all.take(`t${index}`, signal, MIB)
  t.equal(all.held, 4 * MIB)
  for (const controller of controllers) controller.abort()
  t.equal(all.held, 0)
  for (const { signal } of controllers) t.throws(() => all.take('t', signal, 1), { name: 'AbortError' })
  t.equal(all.held, 0)
})
