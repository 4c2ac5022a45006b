import { mock } from 'node:test'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createShares } from '../../src/common/shares.ts'
import { CALL_BYTES } from '../../src/control-plane/limits.ts'
import { HeldMemory } from '../../src/gateway/held-memory.ts'

const MIB = 1024 * 1024
/** One owner gets half of it: itself and a body of 4 MiB. */
const ALL = 2 * (CALL_BYTES + 4 * MIB)

const setUp = (length: number | undefined) => {
  const memory = new HeldMemory(createShares(ALL, 'Too much.'), 8 * MIB)
  memory.take('tenant', length)
  let rejected: unknown
  const wait = async (ms?: number) => {
    memory.wait(length, ms)
    memory.rejected?.then((thrown) => {
      rejected = thrown
    })
  }
  const rejectedAfter = async (ms: number) => {
    mock.timers.tick(ms)
    await new Promise<void>((resolve) => queueMicrotask(resolve))
    return rejected === undefined ? undefined : AppError.from(rejected).code
  }
  return { memory, wait, rejectedAfter }
}

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

t.test("a body of unknown length counts more each half second, up to its owner's share", async (t) => {
  const { wait, rejectedAfter } = setUp(undefined)
  await wait()
  t.equal(await rejectedAfter(500), undefined, '2 MiB')
  t.equal(await rejectedAfter(500), undefined, '4 MiB')
  t.equal(await rejectedAfter(500), 'rate_limited', '8 MiB')
})

t.test('a body of known length has no time limit, unless one is set', async (t) => {
  const { memory, wait, rejectedAfter } = setUp(10)
  await wait()
  t.equal(memory.rejected, undefined)
  await wait(1_000)
  t.equal(await rejectedAfter(999), undefined)
  t.equal(await rejectedAfter(1), 'destination_timeout')
})

t.test('a body that is complete, or whose caller left, is not rejected', async (t) => {
  for (const end of ['stopWaiting', 'release'] as const) {
    const { memory, wait, rejectedAfter } = setUp(undefined)
    await wait(1_000)
    memory[end]()
    t.equal(await rejectedAfter(5_000), undefined)
    t.equal(memory.rejected, undefined)
  }
})
