import t from 'tap'
import { COMPILE_MS, childrenWithin } from '../../src/sandbox/limits.ts'
import { openPool, openSandbox, programOf, returned } from './kit.ts'

t.test('the number of children is limited by memory, with at least two', async (t) => {
  t.same([0, 699, 700, 1_049, 1_050, 3_500].map(childrenWithin), [2, 2, 2, 2, 3, 10])
  const { pids } = await openSandbox(t, { memoryMib: 1_100 })
  t.equal(pids.size, 3)
})

t.test('programs that run alternately stay in the child that has loaded them', async (t) => {
  const programs = Array.from({ length: 100 }, (_, each) =>
    programOf(`${each}`, `module.exports = () => ${each}`),
  )
  let created = 0
  const call = await openPool(t, 3, {
    // a program waits 5 ms for the child that has loaded it: with a real clock, more of them move on a busy machine
    now: () => 0,
    // others would all be loaded in the last child, which has no room for them
    trusted: programs,
    onMessage: (message) => {
      // the time limit of creating an isolate
      if (message.kind === 'entering' && message.id !== 0 && message.budgetMs === COMPILE_MS) created++
    },
  })

  for (let round = 0; round < 3; round++)
    for (let at = 0; at < programs.length; at += 10)
      await Promise.all(
        programs
          .slice(at, at + 10)
          .map(async (program) => t.equal(returned(await call(program)), Number(program.key))),
      )
  t.equal(created, programs.length)
})

t.test(
  'a program that becomes suspect moves to the last child, also from one with its isolate',
  async (t) => {
    const { run } = await openSandbox(t)
    const code = 'module.exports = ({ loop }) => { while (loop); return 1 }'
    const call = () => run(code)
    for (let round = 0; round < 3; round++)
      t.same((await Promise.all([call(), call(), call(), call()])).map(returned), [1, 1, 1, 1])
    const looped = await run(code, { argument: { loop: true }, limits: { cpuMs: 100 } })
    t.match(looped, { kind: 'limit', limit: 'cpu' })
    const others = Array.from({ length: 60 }, (_, each) => run(`module.exports = () => ${each}`))
    t.equal((await Promise.all(others)).length, 60, 'so it is not among the last used ones')
    t.equal(returned(await call()), 1)
  },
)
