import t from 'tap'
import { DEFAULT_LIMITS } from '../../../src/sandbox/limits.ts'
import { createInvocationJob } from '../../../src/sandbox/parent/invocation-job.ts'
import type { Outcome } from '../../../src/sandbox/types.ts'
import { NO_HOST } from '../kit.ts'

const LIMITS = { ...DEFAULT_LIMITS, wallMs: 1 }
const SOURCE = { ...LIMITS, tenantId: 't', name: 'code', key: 'k', code: '' }

/** Outcome of an invocation whose wall time ends after it was sent to a child. */
const timeUp = (closed: boolean) => {
  const behaved: boolean[] = []
  return new Promise<{ readonly outcome: Outcome; readonly behaved: readonly boolean[] }>((resolve) => {
    const job = createInvocationJob(1, { program: SOURCE, argument: '1', host: NO_HOST }, SOURCE, LIMITS, {
      now: () => 0,
      resolve: (outcome) => resolve({ outcome, behaved }),
      onBehaved: (well) => behaved.push(well),
    })
    job.begin({ send: () => {}, closed }, false)
  })
}

t.test('the wall limit is reported as overload while an invocation waits for another child', async (t) => {
  t.match(await timeUp(false), { outcome: { kind: 'limit', limit: 'wall' }, behaved: [false] })
  t.match(await timeUp(true), { outcome: { kind: 'limit', limit: 'overload' }, behaved: [] })
})

t.test('console lines beyond the limits of the program are dropped', async (t) => {
  const limits = { ...DEFAULT_LIMITS, logLines: 3, logBytes: 5 }
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const job = createInvocationJob(1, { program: SOURCE, argument: '1', host: NO_HOST }, SOURCE, limits, {
    now: () => 0,
    resolve,
    onBehaved: () => {},
  })
  job.begin({ send: () => {}, closed: false }, false)
  const lines = ['ab', 'cdefgh', 'c', 'd'].map((text) => ({ level: 'log', text }) as const)
  const ending = { kind: 'returned', empty: true } as const
  job.onEnded({ kind: 'ended', id: 1, ending, console: lines, cpuMs: 1, preparingMs: 0 }, '')
  t.same((await promise).console, lines.slice(0, 1))
})
