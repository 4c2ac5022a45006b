import t from 'tap'
import { openSandbox } from './kit.ts'

const { run } = await openSandbox(t)

t.test('an invocation that exceeds a limit ends with the name of that limit', async (t) => {
  const limit = (name: string) => ({ kind: 'limit', limit: name, message: String })

  // a child without CPU is killed by the parent, which knows no line
  const messages: string[] = []
  while (messages.length < 10 && !messages.some((message) => message.includes('line'))) {
    const outcome = await run(`module.exports = () => {\n  for (;;);\n} // ${messages.length}`, {
      limits: { cpuMs: 100 },
    })
    t.match(outcome, { ...limit('cpu'), message: /^It used more than 100 ms of CPU\./ })
    if (outcome.kind === 'limit') messages.push(outcome.message)
  }
  t.match(messages.at(-1), /It was stopped at line 2, column 3\.$/)
  t.match(
    await run('module.exports = async () => { for (;;) await new Promise((r) => setTimeout(r, 10)) }', {
      limits: { wallMs: 1_000 },
    }),
    limit('wall'),
  )
  t.match(
    await run('module.exports = () => 1', { argument: 'x'.repeat(100), limits: { argumentBytes: 50 } }),
    limit('argument'),
  )
  t.match(
    await run('module.exports = () => "x".repeat(100)', { limits: { resultBytes: 50 } }),
    limit('result'),
  )
  t.match(
    await run('module.exports = () => { for (let i = 0; i < 11; i++) require("crypto").randomBytes(1) }', {
      limits: { syncCalls: 10 },
    }),
    limit('host_calls'),
  )
  t.match(
    await run('module.exports = () => { for (let i = 0; i < 33; i++) setTimeout(() => {}, 1000) }', {
      limits: { asyncCalls: 2 },
    }),
    limit('host_calls'),
  )
  t.match(
    await run('const a = []; module.exports = () => { for (;;) a.push(new Array(10000).fill(1.5)) }', {
      limits: { cpuMs: 20_000, wallMs: 20_000 },
    }),
    limit('memory'),
  )
})

t.test('an argument of five megabytes is passed in and returned', async (t) => {
  const argument = { text: 'ä'.repeat(2_500_000 - 20) }
  const outcome = await run('module.exports = async (req) => req', { argument, limits: { cpuMs: 10_000 } })
  t.equal(outcome.kind === 'returned' ? outcome.json : JSON.stringify(outcome), JSON.stringify(argument))
})

t.test('many pending calls are passed to the host a few at a time', async (t) => {
  let now = 0
  let largest = 0
  const host = {
    sdk: true,
    call: async () => {
      largest = Math.max(largest, ++now)
      await new Promise((done) => setImmediate(done))
      now--
      return 1
    },
  }
  const code =
    'module.exports = async (req) => (await Promise.all(Array.from({ length: 40 }, () => req.bt.tokens.retrieve("x")))).length'
  t.match(await run(code, { host, limits: { asyncCalls: 4 } }), { kind: 'returned', json: '40' })
  t.ok(largest <= 4, `${largest} at a time`)
})

t.test('an aborted invocation ends at once', async (t) => {
  const controller = new AbortController()
  const host = {
    sdk: true,
    call: () => {
      controller.abort()
      return new Promise<never>(() => {})
    },
  }
  t.match(
    await run('module.exports = (req) => req.bt.tokens.retrieve("x")', { host, signal: controller.signal }),
    {
      kind: 'limit',
      limit: 'cancelled',
    },
  )
  t.match(await run('module.exports = () => 1', { signal: AbortSignal.abort() }), { limit: 'cancelled' })
})

t.test('a program that cannot be warmed delays the others only once', async (t) => {
  const { sandbox, pids } = await openSandbox(t, { children: 1, limits: { cpuMs: 500 } })
  const programs = [
    { tenantId: 'tenant', name: 'code', code: 'for (;;) {}' },
    { tenantId: 'tenant', name: 'code', code: 'module.exports = () => 1' },
  ]
  await sandbox.warm(programs)
  // the only child is stopped, so nothing is tried
  const [pid = 0] = pids
  process.kill(pid, 'SIGSTOP')
  let tried = false
  const fresh = sandbox.warm([{ tenantId: 'tenant', name: 'code', code: 'module.exports = () => 2' }])
  void fresh.then(() => {
    tried = true
  })
  await sandbox.warm(programs.slice(0, 1))
  t.equal(tried, false)
  process.kill(pid, 'SIGCONT')
  await fresh
})
