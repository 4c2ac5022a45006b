import t from 'tap'
import type { SandboxHost } from '../../src/sandbox/types.ts'
import { openSandbox, returned } from './kit.ts'

const { run } = await openSandbox(t, { children: 1 })

t.test('no state remains after a call, however it ended', async (t) => {
  const host: SandboxHost = { sdk: true, call: () => new Promise(() => {}) }
  const code = `let calls = 0; module.exports = ({ bt, how }) => {
    calls++
    globalThis.calls = (globalThis.calls ?? 0) + 1
    if (how === 'throw') throw new Error('no')
    if (how === 'timer') setTimeout(() => { calls += 100 }, 1)
    if (how === 'call') bt.tokens.retrieve('id').catch(() => {})
    if (how === 'loop') for (;;);
    return [calls, globalThis.calls]
  }`
  for (const how of ['', '', 'throw', '', 'timer', '', 'call', '', 'loop', '']) {
    const outcome = await run(code, {
      argument: { how },
      host,
      limits: how === 'loop' ? { cpuMs: 200 } : {},
    })
    if (how === 'throw' || how === 'loop') t.not(outcome.kind, 'returned')
    else t.same(returned(outcome), [1, 1], how)
  }
})

t.test('a call reports only its own output', async (t) => {
  const code = `console.log('top'); module.exports = async ({ say }) => {
    console.log(say)
    Promise.resolve().then(() => {}).then(() => {}).then(() => console.log('late ' + say))
    return say
  }`
  for (const say of ['one', 'two'])
    t.same(
      (await run(code, { argument: { say } })).console.map(({ text }) => text),
      ['top', say],
    )
})

t.test('two concurrently waiting calls have separate contexts', async (t) => {
  const together = Promise.withResolvers<null>()
  let waiting = 0
  const host: SandboxHost = {
    sdk: true,
    call: async () => {
      if (++waiting === 2) together.resolve(null)
      return together.promise
    },
  }
  const code = `let inside = 0; module.exports = async ({ bt }) => {
    const seen = ++inside
    await bt.tokens.retrieve('id')
    return seen
  }`
  t.same((await Promise.all([run(code, { host }), run(code, { host })])).map(returned), [1, 1])
})
