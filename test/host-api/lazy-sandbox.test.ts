import t from 'tap'
import { onDemand } from '../../src/host-api/lazy-sandbox.ts'
import type { Invocation, Sandbox } from '../../src/sandbox/types.ts'

const invocation = {} as Invocation

const setup = () => {
  const starts: PromiseWithResolvers<Sandbox>[] = []
  const done: string[] = []
  const sandbox = {
    run: async () => ({ kind: 'returned', json: '1' }),
    health: async () => {
      done.push('health')
    },
    close: async () => {
      done.push('close')
    },
  } as unknown as Sandbox
  const lazy = onDemand(() => {
    const start = Promise.withResolvers<Sandbox>()
    starts.push(start)
    return start.promise
  })
  return { lazy, starts, done, sandbox }
}

t.test('it starts once, with the first use, and all uses wait for that', async (t) => {
  const { lazy, starts, sandbox } = setup()
  t.equal(starts.length, 0)
  const runs = [lazy.run(invocation), lazy.run(invocation)]
  t.equal(starts.length, 1)
  starts[0]?.resolve(sandbox)
  for (const run of runs) t.match(await run, { kind: 'returned' })
  t.equal(starts.length, 1)
})

t.test('its health is good until it has started, which it does not begin', async (t) => {
  const { lazy, starts, done, sandbox } = setup()
  await lazy.health()
  t.same([starts.length, done.length], [0, 0])
  const run = lazy.run(invocation)
  await lazy.health()
  starts[0]?.resolve(sandbox)
  await run
  await lazy.health()
  t.same(done, ['health'], 'then it is that of the sandbox')
})

t.test('a start that failed is told, and tried again', async (t) => {
  const { lazy, starts, sandbox } = setup()
  const run = lazy.run(invocation)
  starts[0]?.reject(new Error('no memory'))
  t.match(await run, { kind: 'limit', limit: 'overload' })
  const health = lazy.health()
  starts[1]?.reject(new Error('no memory'))
  await t.rejects(health, /no memory/)
  const again = lazy.health()
  starts[2]?.resolve(sandbox)
  await t.resolves(again)
})

t.test('it ends what has started, and starts nothing afterwards', async (t) => {
  const { lazy, starts, done, sandbox } = setup()
  const run = lazy.run(invocation)
  const close = lazy.close()
  starts[0]?.resolve(sandbox)
  await Promise.all([run, close])
  t.same(done, ['close'])
  t.match(await lazy.run(invocation), { kind: 'limit' })
  t.equal(starts.length, 1)
  const unused = setup()
  await unused.lazy.close()
  t.equal(unused.starts.length, 0)
})
