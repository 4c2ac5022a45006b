import t from 'tap'
import { createLog } from '../../src/common/log.ts'
import { createFrameReader } from '../../src/sandbox/frames.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/limits.ts'
import { probeConfinement } from '../../src/sandbox/parent/confinement.ts'
import { createInvocationJob } from '../../src/sandbox/parent/invocation.ts'
import type { Source } from '../../src/sandbox/parent/job.ts'
import { createPool } from '../../src/sandbox/parent/pool.ts'
import { startText } from '../../src/sandbox/parent/sources.ts'
import { spawnChild } from '../../src/sandbox/parent/spawn.ts'
import { createTrustTracker } from '../../src/sandbox/parent/trust.ts'
import type { Outcome } from '../../src/sandbox/types.ts'
import { NO_HOST } from './kit.ts'

const CALLS = 100

const source = (key: string, code: string): Source => {
  const { memoryMib, resultBytes, logLines, logBytes } = DEFAULT_LIMITS
  return { tenantId: 't', name: 'code', key, code, memoryMib, resultBytes, logLines, logBytes }
}

t.test('a child sends one message per call of a trusted busy program', async (t) => {
  const log = createLog('test', 'silent')
  const confinement = await probeConfinement()
  const start = startText({ packages: [], reuse: false, argumentBytes: 1_000, aheadMs: 1_000 })
  const now = () => 0
  const reputation = createTrustTracker({ now })
  const kinds: string[] = []
  const pool = createPool(1, {
    log,
    now,
    reputation,
    oneTenantPerChild: false,
    maxBytes: 2 ** 24,
    onChild: () => {},
    spawn: () => {
      const spawned = spawnChild(confinement, start)
      const read = createFrameReader(2 ** 24, ({ header }) => {
        kinds.push((header as { readonly kind: string }).kind)
      })
      spawned.stream.on('data', read)
      return spawned
    },
  })
  t.teardown(() => pool.close())
  await pool.ready
  let ids = 0
  const call = (program: Source): Promise<Outcome> =>
    new Promise((resolve) => {
      const invocation = { program, argument: '1', host: NO_HOST }
      const onBehaved = () => reputation.behaved(program.key)
      const deps = { now, resolve, onBehaved }
      pool.submit(createInvocationJob(++ids, invocation, program, DEFAULT_LIMITS, deps))
    })
  const busy = source('busy', 'module.exports = async (number) => number + 1')
  t.match(await call(busy), { kind: 'returned' })
  t.ok(kinds.includes('entering'), 'it says all of one that it does not know yet')

  kinds.length = 0
  let left = CALLS
  const worker = async () => {
    while (left-- > 0) t.match(await call(busy), { kind: 'returned', json: '2' })
  }
  await Promise.all([worker(), worker(), worker()])
  t.equal(kinds.filter((kind) => kind === 'ended').length, CALLS)
  // where the machine stops for a while it says more
  t.ok(kinds.length < 2 * CALLS, `${kinds.length} messages for ${CALLS} calls`)

  const other = source('other', 'module.exports = async () => "other"')
  t.match(await call(other), { kind: 'returned', json: '"other"' })
})
