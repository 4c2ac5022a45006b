import t from 'tap'
import { createMetrics } from '../../src/common/metrics.ts'
import { checkError, createChecks, type RunningCheck } from '../../src/gateway/checks.ts'
import type { Check, CheckedCall } from '../../src/sdk/index.ts'
import { silentLog } from '../kit/egress.ts'

const CALL = {} as CheckedCall

const world = (
  handle: (call: CheckedCall, signal: AbortSignal) => Promise<unknown>,
  more: Partial<Check> = {},
) => {
  const lines: (readonly [object, string])[] = []
  const metrics = createMetrics()
  let time = 0
  const check = { name: 'a', on: 'request', fail: 'closed', handle, ...more } as Check
  const checks = createChecks([{ plugin: 'mine', check }], {
    log: {
      ...silentLog(),
      warn: (line: object, text: string) => lines.push([line, text]),
      child: (of: object) => ({
        warn: (line: object, text: string) => lines.push([{ ...of, ...line }, text]),
      }),
    } as never,
    metrics,
    now: () => time,
  })
  return {
    running: checks?.[check.on][0] as RunningCheck,
    lines,
    counted: async () =>
      (await metrics.checks.total.get()).values.map(
        ({ labels }) => (labels as { outcome?: unknown }).outcome,
      ),
    pass: (ms: number) => {
      time += ms
    },
  }
}

t.test('without a declaration there is nothing to run', async (t) => {
  t.equal(createChecks([], { log: silentLog(), metrics: createMetrics() }), undefined)
})

t.test('a verdict is one of three; everything else returned has failed', async (t) => {
  const label = (value: unknown, name = 'a') => ({ labels: { [name]: value } })
  const deny = (more: object) => ({ deny: { code: 'no', detail: 'No.', ...more } })
  for (const [returned, verdict] of [
    [undefined, 'allowed'],
    [{ labels: { 'x.y_z-1': 'é 💳' } }, 'labeled'],
    [{ labels: {} }, 'labeled'],
    [deny({}), 'denied'],
    [null, 'failed'],
    [true, 'failed'],
    [{}, 'failed'],
    [{ ...label('b'), ...deny({}) }, 'failed'],
    [{ ...label('b'), more: 1 }, 'failed'],
    [label(1), 'failed'],
    [label('b\nc'), 'failed'],
    [label('x'.repeat(201)), 'failed'],
    [label('b', 'x'.repeat(51)), 'failed'],
    [label('b', 'a b'), 'failed'],
    [{ labels: Object.fromEntries([...'abcdefghijk'].map((name) => [name, ''])) }, 'failed'],
    [deny({ code: 'Not' }), 'failed'],
    [deny({ detail: '' }), 'failed'],
    [deny({ detail: 'x'.repeat(301) }), 'failed'],
    [deny({ status: 500 }), 'failed'],
  ] as const) {
    const { running, counted, lines } = world(async () => returned)
    const result = await running.run(CALL, 1_000)
    t.match(result, { verdict, ...(verdict === 'labeled' ? returned : {}) }, JSON.stringify(returned))
    t.same(await counted(), [verdict])
    t.equal(lines.length, verdict === 'failed' ? 1 : 0)
  }
})

t.test('a throw and a hang are decided by "fail", and logged with plugin and check', async (t) => {
  const hangs = world((_, signal) => new Promise(() => signal.addEventListener('abort', () => aborted++)), {
    timeout_ms: 1,
  })
  let aborted = 0
  const throws = world(async () => {
    throw new Error('broken')
  })
  const [hung, thrown] = [await hangs.running.run(CALL, 1_000), await throws.running.run(CALL, 1_000)]
  t.match([hung, thrown], [{ verdict: 'timed_out' }, { verdict: 'failed' }])
  t.equal(aborted, 1)
  t.match(hangs.lines, [[{ plugin: 'mine', check: 'a', timeout_ms: 1 }, /in time/]])
  t.match(throws.lines, [[{ plugin: 'mine', check: 'a', err: { message: 'broken' } }, /failed/]])
  await throws.running.run(CALL, 1_000)
  t.equal(throws.lines.length, 1, 'one line for many')
  for (const result of [hung, thrown]) {
    t.match(checkError(throws.running, result), { code: 'check_unavailable', status: 503 })
    t.equal(checkError({ ...throws.running, fail: 'open' }, result), undefined)
  }
  const denied = { verdict: 'denied', code: 'closed', detail: 'Come back at nine.', ms: 0 } as const
  t.match(checkError({ ...throws.running, fail: 'open' }, denied), {
    code: 'denied_by_plugin',
    status: 403,
    grpc: 7,
    message: 'Come back at nine.',
    errors: { check: ['closed'] },
  })
})

t.test('a check that blocks the event loop after an await is named with its milliseconds', async (t) => {
  const { running, lines } = world(
    async () => {
      await new Promise(setImmediate)
      for (const end = performance.now() + 300; performance.now() < end; );
      return undefined
    },
    { timeout_ms: 1_000 },
  )
  await running.run(CALL, 1_000)
  t.match(lines, [[{ plugin: 'mine', check: 'a', ms: Number }, /event loop was blocked/]])
})

t.test('a check has timed out when the time of all checks is over', async (t) => {
  const { running, lines } = world(() => new Promise(() => {}), { timeout_ms: 2 ** 31 - 1 })
  t.match(await running.run(CALL, 1), { verdict: 'timed_out' })
  t.match(lines, [[{ timeout_ms: 1 }, /in time/]])
  const { running: decided } = world(async () => undefined)
  t.match(await decided.run(CALL, 0), { verdict: 'allowed' }, 'one that needs no time decides')
})

t.test('a check that blocks the event loop is named with its milliseconds', async (t) => {
  const { running, lines, pass } = world(async () => {
    pass(120)
    return undefined
  })
  t.match(await running.run(CALL, 1_000), { verdict: 'allowed', ms: 120 })
  t.match(lines, [[{ plugin: 'mine', check: 'a', ms: 120 }, 'a check blocked the event loop']])
})
