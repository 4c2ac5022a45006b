import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openSandbox, returned } from './kit.ts'

const NATIVE_LOOP = 'module.exports = () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'
const LIMITS = { cpuMs: 100 }
const onLinux = process.platform === 'linux'

const exists = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await setTimeout(10)
}

const { sandbox, run, pids } = await openSandbox(t, { children: 1 })

t.test('code that kills its child twice is quarantined', async (t) => {
  const { run, pids } = await openSandbox(t)
  const before = [...pids]
  t.match(await run(NATIVE_LOOP, { limits: LIMITS }), { kind: 'limit', limit: 'cpu' })
  t.match(await run(NATIVE_LOOP, { limits: LIMITS }), { kind: 'limit', limit: 'cpu' })
  t.match(await run(NATIVE_LOOP, { limits: LIMITS }), { kind: 'limit', limit: 'quarantine' })
  t.equal(returned(await run('module.exports = () => 1')), 1)
  t.notSame([...pids], before, 'its children were replaced')
})

t.test('trusted code that then kills its child is reported by the next one, and blamed', async (t) => {
  const ended: number[] = []
  const { run } = await openSandbox(t, {
    onChild: (pid, what) => void (what === 'ended' && ended.push(pid)),
  })
  const turncoat = (loops: boolean) =>
    run('module.exports = ({ loops }) => loops && [].indexOf.call({ length: 2 ** 53 - 1 }, 1)', {
      argument: { loops },
      limits: loops ? LIMITS : {},
    })
  t.equal(returned(await turncoat(false)), false)
  t.match(await turncoat(true), { kind: 'limit', limit: 'cpu' })
  const first = ended.length
  t.ok(
    first === 1 || first === 2,
    'a child that reported it, and maybe before it one that was assumed to run it',
  )
  t.match(await turncoat(true), { kind: 'limit', limit: 'cpu' })
  t.match(await turncoat(true), { kind: 'limit', limit: 'quarantine' })
  t.equal(ended.length, first + 1)
})

t.test('an invocation not yet confirmed by its child runs again when the child exits', async (t) => {
  const code = 'module.exports = () => { const end = Date.now() + 200; while (Date.now() < end); return 1 }'
  const call = () => run(code, { tenantId: 'repeated' })
  t.equal(returned(await call()), 1)
  const second = call()
  const [pid] = pids
  process.kill(pid as number, 'SIGKILL')
  t.equal(returned(await second), 1)
  t.equal(returned(await call()), 1)
})

t.test('programs that are checked but never called do not overload a child', async (t) => {
  const before = [...pids]
  for (let i = 0; i < 130; i++) {
    const code = `module.exports = () => ${i}`
    t.same(await sandbox.check({ tenantId: 'tenant', name: 'code', code }), [], `program ${i}`)
  }
  t.same([...pids], before)
})

t.test('other invocations of an exited child run again, unless they have called the host', async (t) => {
  const called = Promise.withResolvers<void>()
  const host = {
    sdk: true,
    call: () => {
      called.resolve()
      return new Promise<never>(() => {})
    },
  }
  const tenantId = 'interrupted'
  const sleep = 'module.exports = () => new Promise((done) => setTimeout(() => done("slept"), 1000))'
  // first, so that its code does not run when the other one calls: the code that runs is blamed for the death
  const sleeper = run(sleep, { tenantId })
  const caller = run('module.exports = (req) => req.bt.tokens.retrieve("x")', { host, tenantId })
  await called.promise
  const [pid] = pids
  process.kill(pid as number, 'SIGKILL')
  t.match(await caller, { kind: 'limit', limit: 'interrupted' })
  t.equal(returned(await sleeper), 'slept')
})

t.test('a full queue rejects at once, and every invocation gets a result', async (t) => {
  const host = { sdk: true, call: async () => 1 }
  const outcomes = await Promise.all(
    Array.from({ length: 700 }, () => run('module.exports = (req) => req.bt.tokens.retrieve("x")', { host })),
  )
  const rejected = outcomes.filter((outcome) => outcome.kind === 'limit' && outcome.limit === 'overload')
  t.ok(rejected.length > 0 && rejected.length < 300, `${rejected.length} rejected`)
  t.equal(outcomes.filter(({ kind }) => kind === 'returned').length, 700 - rejected.length)
})

t.test('one tenant’s flood does not starve another', async (t) => {
  const busy = 'module.exports = () => { const end = Date.now() + 20; while (Date.now() < end); }'
  let responded = 0
  const flood = Array.from({ length: 100 }, () => run(busy, { tenantId: 'flood' }).then(() => responded++))
  t.equal(returned(await run('module.exports = () => 1', { tenantId: 'other' })), 1)
  t.ok(responded < 10, `served after ${responded} of 100`)
  await Promise.all(flood)
})

t.test('trusted code that then loops delays others by what its children run only', async (t) => {
  const { sandbox, run } = await openSandbox(t, { limits: { wallMs: 60_000 } })
  const turncoat = (number: number, loops: boolean) =>
    run(`module.exports = ({ loops }) => { while (loops); return ${number} }`, {
      tenantId: 'turncoat',
      argument: { loops },
      limits: loops ? LIMITS : {},
    })
  const good = () => run('module.exports = () => "good"', { tenantId: 'other' })
  await Promise.all([good(), ...Array.from({ length: 24 }, (_, number) => turncoat(number, false))])
  let ended = 0
  const flood = Array.from({ length: 24 }, (_, number) => turncoat(number, true).then(() => ended++))
  const outcomes = await Promise.all(Array.from({ length: 40 }, good))
  t.ok(outcomes.every(({ kind }) => kind === 'returned'))
  t.ok(ended <= 8, `40 calls while ${ended} of 24 ended`)
  await sandbox.close()
  await Promise.all(flood)
})

t.test('a closed sandbox settles pending and new invocations, and leaves no process', async (t) => {
  const { sandbox, run, pids } = await openSandbox(t)
  const children = [...pids]
  const waiting = run('module.exports = () => new Promise((done) => setTimeout(done, 60_000))', {
    limits: { wallMs: 60_000 },
  })
  await sandbox.health()
  await sandbox.close()
  t.match(await waiting, { limit: 'cancelled' })
  t.match(await run('module.exports = () => 1'), { limit: 'cancelled' })
  await t.rejects(sandbox.health())
  if (onLinux) t.same(children.filter(exists), [])
})

t.test(
  'a child has no environment, no files, no sockets, and leaves no core',
  { skip: !onLinux && 'needs Linux: namespaces, /proc, a signal when the parent exits' },
  async (t) => {
    const { pids } = await openSandbox(t)
    for (const pid of pids) {
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
      t.same(
        variables.filter((text) => !/^(TZ|PWD|OLDPWD|_|SHLVL)=/.test(text)),
        [],
      )
      const limits = readFileSync(`/proc/${pid}/limits`, 'utf8')
      t.match(limits, /Max core file size\s+0\s+0/)
      t.match(limits, /Max file size\s+0\s+0/)
      t.match(limits, /Max data size\s+409600000\s+409600000/)
      t.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '1000')
      t.match(readFileSync(`/proc/${pid}/cmdline`, 'latin1'), /sidevault: sandbox/)
      t.notMatch(readFileSync(`/proc/${pid}/maps`, 'latin1'), / rwxp /, 'no memory is both written and run')
    }
  },
)

t.test(
  'children of a killed process exit with it, also one in a native loop',
  { skip: !onLinux && 'needs Linux: namespaces, /proc, a signal when the parent exits' },
  async (t) => {
    const program = `
    import { createSandbox } from ${JSON.stringify(new URL('../../src/sandbox/sandbox.ts', import.meta.url).href)}
    import { createMetrics } from ${JSON.stringify(new URL('../../src/common/metrics.ts', import.meta.url).href)}
    const log = { info() {}, warn() {}, error() {}, debug() {} }
    const sandbox = await createSandbox({ log, metrics: createMetrics() }, {
      limits: { cpuMs: 60_000, wallMs: 60_000 },
      onChild: (pid, what) => console.log(what, pid),
    })
    const code = ${JSON.stringify(NATIVE_LOOP)}
    void sandbox.run({ program: { tenantId: 't', name: 'code', code }, argument: '1', host: { sdk: false, call: async () => null } })
    setTimeout(() => console.log('looping'), 300)`
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const pids: number[] = []
    for await (const line of createInterface(parent.stdout)) {
      const [what, pid] = line.split(' ')
      if (what === 'started') pids.push(Number(pid))
      if (what === 'looping') break
    }
    t.equal(pids.length, 2)
    t.same(pids.filter(exists), pids)
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    await until(() => pids.every((pid) => !exists(pid)))
    t.pass('they have exited')
  },
)
