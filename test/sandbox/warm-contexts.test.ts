import t from 'tap'
import type { SandboxHost } from '../../src/sandbox/types.ts'
import { openSandbox, type RunOptions, returned } from './kit.ts'

const COUNT = 'let calls = 0; module.exports = () => ++calls'

/** What one child returns for calls of the same code, one after the other. */
const openCalls = async (test: Parameters<typeof openSandbox>[0], options: { reuseContexts?: boolean }) => {
  const { run } = await openSandbox(test, { children: 1, ...options })
  return async (code: string, ...each: readonly RunOptions[]): Promise<unknown[]> => {
    const results: unknown[] = []
    for (const one of each) {
      const outcome = await run(code, one)
      results.push(outcome.kind === 'returned' ? returned(outcome) : outcome.kind)
    }
    return results
  }
}

t.test('each call has its own context unless the operator disables that', async (test) => {
  const calls = await openCalls(test, {})
  test.same(await calls(COUNT, {}, {}, {}), [1, 1, 1])
  const fresh = await openCalls(test, { reuseContexts: false })
  test.same(await fresh(COUNT, {}, {}, {}), [1, 1, 1])
})

t.test('warm contexts', async (test) => {
  const calls = await openCalls(test, { reuseContexts: true })

  test.same(await calls(COUNT, {}, {}, {}), [1, 2, 3], 'keep the variables of a module')
  test.same(
    await calls(COUNT, { tenantId: 'a' }, { tenantId: 'b' }, { tenantId: 'a' }),
    [1, 1, 2],
    'are those of one tenant',
  )
  test.same(await calls(COUNT, { name: 'other' }, {}), [1, 4], 'and of one name')
  test.same(
    await calls(
      `let calls = 0; module.exports = ({ how }) => {
        calls++
        if (how === 'throw') throw new Error('no')
        if (how === 'timer') setTimeout(() => { calls += 100 }, 1)
        return calls
      }`,
      ...['', '', 'throw', '', 'timer', '', ''].map((how) => ({ argument: { how } })),
    ),
    [1, 2, 'threw', 1, 2, 1, 2],
    'serve no more after a call that threw or left a timer',
  )
})

t.test('a call with pending host work, or that met a limit, leaves no context behind', async (test) => {
  const { run } = await openSandbox(test, { children: 1, reuseContexts: true })
  const host: SandboxHost = { sdk: true, call: () => new Promise(() => {}) }
  const code = `let calls = 0; module.exports = ({ bt, how }) => {
    if (how === 'call') bt.tokens.retrieve('id').catch(() => {})
    if (how === 'loop') for (;;);
    return ++calls
  }`
  const of = async (how: string) => {
    const outcome = await run(code, {
      argument: { how },
      host,
      limits: how === 'loop' ? { cpuMs: 200 } : {},
    })
    return outcome.kind === 'returned' ? returned(outcome) : outcome.kind
  }
  test.same(await of(''), 1)
  test.same(await of('call'), 2)
  test.same(await of(''), 1)
  test.same(await of('loop'), 'limit')
  test.same(await of(''), 1)
})

t.test('a warm context reports to each caller only the output of its own call', async (test) => {
  const { run } = await openSandbox(test, { children: 1, reuseContexts: true })
  const code = `console.log('top'); let last; module.exports = async ({ say }) => {
    console.log(say)
    Promise.resolve().then(() => {}).then(() => {}).then(() => console.log('late ' + say))
    return say
  }`
  const lines = async (say: string) =>
    (await run(code, { argument: { say } })).console.map(({ text }) => text)
  test.same(await lines('one'), ['top', 'one'])
  test.same(await lines('two'), ['two'])
})

t.test('two concurrently waiting calls have separate contexts', async (test) => {
  const { run } = await openSandbox(test, { children: 1, reuseContexts: true })
  let together = Promise.withResolvers<null>()
  let waiting = 0
  const host: SandboxHost = {
    sdk: true,
    call: async () => {
      if (++waiting === 2) together.resolve(null)
      return together.promise
    },
  }
  const code = `let inside = 0; module.exports = async ({ bt }) => {
    inside++
    const seen = inside
    await bt.tokens.retrieve('id')
    inside--
    return seen
  }`
  for (let round = 0; round < 2; round++) {
    waiting = 0
    together = Promise.withResolvers()
    const both = await Promise.all([run(code, { host }), run(code, { host })])
    test.same(both.map(returned), [1, 1])
  }
})
