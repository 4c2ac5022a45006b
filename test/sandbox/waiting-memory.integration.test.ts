import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openSandbox, returned } from './kit.ts'

/** Number of programs, and MiB of buffers that each holds: more together than a child has. */
const HOLDERS = 10
const EACH_MIB = 40
const SUM = 'module.exports = ({ a, b }) => Array.from({ length: 1e5 }, () => a + b)[0]'

const called = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const host = {
    sdk: true,
    call: () => {
      resolve()
      return new Promise<never>(() => {})
    },
  }
  return { host, promise }
}

t.test(
  'waiting invocations of a tenant that hold too much memory end, and their child continues',
  async (t) => {
    const ended: number[] = []
    const { run } = await openSandbox(t, {
      children: 1,
      onChild: (pid, what) => void (what === 'ended' && ended.push(pid)),
    })
    const waiter = called()
    const hold = (req: string) =>
      `globalThis.keep = []; for (let i = 0; i < (${req}); i++) keep.push(new ArrayBuffer(2 ** 20))`
    const modest = run(
      `module.exports = (req) => { ${hold('req.args')}; return req.bt.tokens.retrieve(String(keep.length)) }`,
      { tenantId: 'victim', host: waiter.host, argument: { args: EACH_MIB + 10 } },
    )
    await waiter.promise
    const holders = Array.from({ length: HOLDERS }, (_, each) => {
      const { host, promise } = called()
      const code = `/* ${each} */ module.exports = (req) => { ${hold('req.args')}; return req.bt.tokens.retrieve('x' + keep.length) }`
      const outcome = run(code, { tenantId: 'attacker', host, argument: { args: EACH_MIB } })
      return { outcome, settled: Promise.race([outcome, promise]) }
    })
    await Promise.all(holders.map(({ settled }) => settled))
    for (let call = 0; call < 5; call++)
      t.equal(returned(await run(SUM, { tenantId: 'victim', argument: { a: 1, b: 2 } })), 3)
    t.same(ended, [], 'no child was killed')
    const over = await Promise.all(
      holders.map(({ outcome }) =>
        Promise.race([outcome, new Promise<undefined>((done) => setImmediate(done, undefined))]),
      ),
    )
    const limits = over.filter((outcome) => outcome !== undefined)
    t.ok(limits.length >= HOLDERS - 4, `${limits.length} of ${HOLDERS} were ended`)
    for (const outcome of limits) t.match(outcome, { kind: 'limit', limit: 'memory' })
    t.equal(
      await Promise.race([modest, new Promise((done) => setImmediate(done, 'waits'))]),
      'waits',
      'it is the largest one, but its tenant holds less',
    )
  },
)

t.test('memory of contexts that are prepared ahead is counted', async (t) => {
  const ended: number[] = []
  const { run } = await openSandbox(t, {
    children: 1,
    onChild: (pid, what) => void (what === 'ended' && ended.push(pid)),
  })
  const later = Date.now() + 2_000
  const code = (each: number) => `
    const keep = []
    for (let i = 0; i < ${EACH_MIB} && Date.now() > ${later}; i++) keep.push(new ArrayBuffer(2 ** 20))
    module.exports = () => ${each}`
  const round = async () => {
    for (let each = 0; each < HOLDERS; each++)
      t.equal(returned(await run(code(each), { tenantId: 'attacker' })), each)
  }
  await round()
  while (Date.now() <= later) await setTimeout(later + 1 - Date.now())
  await round()
  t.equal(returned(await run(SUM, { tenantId: 'victim', argument: { a: 1, b: 2 } })), 3)
  t.same(ended, [], 'no child was killed')
})
