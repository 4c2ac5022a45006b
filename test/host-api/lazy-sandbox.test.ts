import t from 'tap'
import { createLazySandbox, type SandboxStart } from '../../src/host-api/lazy-sandbox.ts'
import type { Invocation, Program, Sandbox } from '../../src/sandbox/types.ts'

const invocation = {} as Invocation
const program = {} as Program
/** Lets everything run that does not wait for the test. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

const setup = (confine: SandboxStart['confine'] = async () => ({ wrapper: [], missing: ['uid'] })) => {
  const starts: PromiseWithResolvers<Sandbox>[] = []
  const done: string[] = []
  const sandbox = {
    run: async () => ({ kind: 'returned', json: '1' }),
    warm: async () => {
      done.push('warm')
    },
    health: async () => {
      done.push('health')
    },
    close: async () => {
      done.push('close')
    },
  } as unknown as Sandbox
  const start = () => {
    const started = Promise.withResolvers<Sandbox>()
    starts.push(started)
    return started.promise
  }
  const lazy = createLazySandbox({ confine, start })
  return { lazy, starts, done, sandbox }
}

t.test('a lazy sandbox starts once, on first use, and all uses wait for that', async (t) => {
  const { lazy, starts, sandbox } = setup()
  t.equal(starts.length, 0)
  const runs = [lazy.run(invocation), lazy.run(invocation)]
  await turn()
  t.equal(starts.length, 1)
  starts[0]?.resolve(sandbox)
  for (const run of runs) t.match(await run, { kind: 'returned' })
  t.equal(starts.length, 1)
})

t.test('a lazy sandbox is healthy before its start, and health does not start it', async (t) => {
  const { lazy, starts, done, sandbox } = setup()
  await lazy.health()
  t.same([starts.length, done.length], [0, 0])
  const run = lazy.run(invocation)
  await lazy.health()
  await turn()
  starts[0]?.resolve(sandbox)
  await run
  await lazy.health()
  t.same(done, ['health'], 'then it is that of the sandbox')
})

t.test('a failed start is reported, and retried', async (t) => {
  const { lazy, starts, sandbox } = setup()
  const run = lazy.run(invocation)
  await turn()
  starts[0]?.reject(new Error('no memory'))
  t.match(await run, { kind: 'limit', limit: 'overload' })
  const health = lazy.health()
  await turn()
  starts[1]?.reject(new Error('no memory'))
  await t.rejects(health, /no memory/)
  const again = lazy.health()
  await turn()
  starts[2]?.resolve(sandbox)
  await t.resolves(again)
})

t.test('close() ends a started sandbox, and prevents a later start', async (t) => {
  const { lazy, starts, done, sandbox } = setup()
  const run = lazy.run(invocation)
  const close = lazy.close()
  await turn()
  starts[0]?.resolve(sandbox)
  await Promise.all([run, close])
  t.same(done, ['close'])
  t.match(await lazy.run(invocation), { kind: 'limit' })
  t.equal(starts.length, 1)
  const unused = setup()
  await unused.lazy.close()
  t.equal(unused.starts.length, 0)
})

t.test('without programs only confinement is probed, and health reports what is missing', async (t) => {
  const { lazy, starts, done, sandbox } = setup()
  t.same(await lazy.health(), { missing: [] })
  await lazy.warm([])
  t.same(await lazy.health(), { missing: ['uid'] })
  t.same([starts.length, done], [0, []])
  const warm = lazy.warm([program])
  await turn()
  starts[0]?.resolve(sandbox)
  await warm
  t.same(done, ['warm'])
})

t.test('close() aborts the detection of confinement, and waits for its end', async (t) => {
  const ended = Promise.withResolvers<void>()
  const { lazy, starts } = setup(async (signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await ended.promise
    throw signal.reason
  })
  const run = lazy.run(invocation)
  const warm = lazy.warm([])
  let closed = false
  const close = lazy.close().then(() => {
    closed = true
  })
  await turn()
  t.equal(closed, false)
  ended.resolve()
  await Promise.all([close, t.resolves(warm)])
  t.match(await run, { kind: 'limit', limit: 'overload' })
  t.equal(starts.length, 0)
})

t.test('a missing required confinement rejects, and starts nothing', async (t) => {
  const { lazy, starts } = setup(() => Promise.reject(new Error('no landlock')))
  await t.rejects(lazy.warm([]), /no landlock/)
  t.match(await lazy.run(invocation), { kind: 'limit', limit: 'overload' })
  await t.rejects(lazy.health(), /no landlock/)
  t.equal(starts.length, 0)
})
