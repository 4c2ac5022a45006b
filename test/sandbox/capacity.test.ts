import { readFileSync } from 'node:fs'
import t from 'tap'
import { childrenWithin } from '../../src/sandbox/limits.ts'
import { openSandbox, returned } from './kit.ts'

/** Ticks of the CPU that a process has used (proc(5), stat). */
const ticks = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

t.test('there are as many children as the memory is enough for, and two at least', async (t) => {
  t.same([0, 699, 700, 1_049, 1_050, 3_500].map(childrenWithin), [2, 2, 2, 2, 3, 10])
  const { pids } = await openSandbox(t, { memoryMb: 1_100 })
  t.equal(pids.size, 3)
})

t.test('programs that take turns stay in the child that has them', async (t) => {
  const { run, pids } = await openSandbox(t, { children: 3 })
  const programs = Array.from({ length: 100 }, (_, each) => `module.exports = () => ${each}`)
  const used = () => [...pids].reduce((sum, pid) => sum + ticks(pid), 0)

  const turn = async () => {
    const before = used()
    for (let at = 0; at < programs.length; at += 10)
      await Promise.all(
        programs.slice(at, at + 10).map(async (code, each) => t.equal(returned(await run(code)), at + each)),
      )
    return used() - before
  }
  const [first = 0, ...later] = [await turn(), await turn(), await turn(), await turn(), await turn()]
  t.ok(Math.min(...later) < first * 0.5, `the first turn took ${first} ticks, the others ${later}`)
})

t.test('what has become suspect moves to the last child, also from one that has its isolate', async (t) => {
  const { run } = await openSandbox(t)
  const code = 'module.exports = ({ loop }) => { while (loop); return 1 }'
  const one = () => run(code, { limits: { cpuMs: 100 } })
  for (let round = 0; round < 3; round++)
    t.same((await Promise.all([one(), one(), one(), one()])).map(returned), [1, 1, 1, 1])
  const looped = await run(code, { argument: { loop: true }, limits: { cpuMs: 100 } })
  t.match(looped, { kind: 'limit', limit: 'cpu' })
  const others = Array.from({ length: 60 }, (_, each) => run(`module.exports = () => ${each}`))
  t.equal((await Promise.all(others)).length, 60, 'so it is not one of the last ones')
  t.equal(returned(await one()), 1)
})
