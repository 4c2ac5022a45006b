import { AsyncLocalStorage } from 'node:async_hooks'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import type { SandboxHost } from '../../src/sandbox/types.ts'
import { openSandbox, returned } from './kit.ts'

t.test('a sandbox', async (t) => {
  const { sandbox, run, metrics, pids } = await openSandbox(t)

  t.test('runs code in each common form', async (t) => {
    const forms = {
      'an async function': 'module.exports = async function (req) { return { sum: req.a + req.b } }',
      'an arrow function': 'module.exports = async ({ a, b }) => ({ sum: a + b })',
      'a function that is not async': 'module.exports = (req) => ({ sum: req.a + req.b })',
      'exports.default': 'exports.default = (req) => ({ sum: req.a + req.b })',
      'a compiled ES module':
        'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = (req) => ({ sum: req.a + req.b })',
      'a script with a first line for the shell':
        '#!/usr/bin/env node\nmodule.exports = (req) => ({ sum: req.a + req.b })',
      'an ES module with one': '#!/usr/bin/env node\nexport default (req) => ({ sum: req.a + req.b })',
      'an ES module': 'export default async (req) => ({ sum: req.a + req.b })',
      'an ES module that names its function':
        'async function transform(req) { return { sum: req.a + req.b } }\nexport { transform as default }',
      'an ES module with imports':
        "import path, { join } from 'path'\nimport * as all from 'node:path'\nexport default (req) => ({ sum: join === path.join && all.join === join ? req.a + req.b : 0 })",
    }
    for (const [form, code] of Object.entries(forms))
      t.same(returned(await run(code, { argument: { a: 1, b: 2 } })), { sum: 3 }, form)
  })

  t.test('makes host calls in the asynchronous context of their invocation', async (t) => {
    const caller = new AsyncLocalStorage<string>()
    const code = 'module.exports = async () => (await fetch("https://dest.test")).status'
    const seen: string[] = []
    const host: SandboxHost = {
      sdk: false,
      call: async () => {
        seen.push(caller.getStore() ?? 'none')
        return { status: 200, url: '', headers: [], body: '' }
      },
    }
    for (const name of ['first', 'second']) await caller.run(name, () => run(code, { host }))
    await run(code, { host })
    t.same(seen, ['first', 'second', 'none'])
  })

  t.test('gives every invocation a context of its own', async (t) => {
    const code = `
      let calls = 0
      module.exports = () => {
        const seen = [calls, globalThis.left, Object.prototype.left, [].left]
        calls++; globalThis.left = 1; Object.prototype.left = 1; Array.prototype.left = 1
        return seen.filter((x) => x)
      }`
    for (let call = 0; call < 5; call++) t.same(returned(await run(code)), [])
  })

  t.test('rejects key derivation that exceeds the time limit, and continues', async (t) => {
    const code = `const { pbkdf2Sync, scryptSync } = require('crypto')
      const rejects = (derive) => { try { derive(); return false } catch (error) { return error.code } }
      module.exports = () => [
        rejects(() => pbkdf2Sync('p', 's', 2e9, 64, 'sha512')),
        rejects(() => scryptSync('p', 's', 64, { N: 2 ** 16, r: 8, p: 2_000 })),
        pbkdf2Sync('p', 's', 10, 4, 'sha512').length,
      ]`
    t.same(returned(await run(code)), ['ERR_OUT_OF_RANGE', 'ERR_OUT_OF_RANGE', 4])
  })

  t.test('gives tenants with the same code separate isolates', async (t) => {
    const code = `module.exports = (req) => { const seen = globalThis.secret ?? null; globalThis.secret = req.secret; return seen }`
    for (const tenantId of ['a', 'b', 'a', 'b'])
      t.equal(returned(await run(code, { tenantId, argument: { secret: tenantId } })), null)
  })

  t.test('returns undefined for values that JSON cannot represent', async (t) => {
    for (const body of ['undefined', '() => 1', 'Symbol()'])
      t.match(await run(`module.exports = () => (${body})`), { kind: 'returned', json: undefined })
  })

  t.test('reports what the code threw, with places in its own source', async (t) => {
    const outcome = await run('module.exports = async () => {\n  const a = null\n  return a.b\n}', {
      name: 'request_transform',
    })
    t.match(outcome, { kind: 'threw', name: 'TypeError', frames: ['request_transform:3:12'] })
    t.match(await run("throw new RangeError('while loading')"), {
      kind: 'unusable',
      issues: [{ line: 1, column: 7, message: /while loading/ }],
    })
  })

  t.test('reports where code does not parse', async (t) => {
    const places: readonly (readonly [string, number, number])[] = [
      ['let = = 1', 1, 7],
      ['module.exports = () => {\n  return }}', 2, 11],
      ['\n\nfunction f( {', 3, 14],
      ['import x from "path"\nexport default () => { let let }', 2, 28],
      ['}); (function () {', 1, 1],
      ['module.exports = async () => { /* no end', 1, 32],
    ]
    for (const [code, line, column] of places) {
      const issues = await sandbox.check({
        tenantId: 'tenant',
        name: 'code',
        code,
      })
      t.match(issues, [{ line, column, message: String }], code)
      t.match(await run(code), { kind: 'unusable', issues })
    }
  })

  t.test('reports at a check whether code exports a function', async (t) => {
    const check = (code: string) => sandbox.check({ tenantId: 'tenant', name: 'code', code })
    t.same(await check('module.exports = () => 1'), [])
    for (const code of ['', 'module.exports = {}', 'export const a = 1', 'throw new Error("top")'])
      t.match(await check(code), [{ line: Number, message: String }], code)
  })

  t.test('reports code that forges its verdict as unusable, and its process continues', async (t) => {
    const thrown = (stack: string) =>
      `const e = new Error('x'); Object.defineProperty(e, 'stack', { value: ${stack} }); throw e`
    const before = [...pids]
    for (const code of [
      thrown(`'Error: x\\n    at code:1.5:-3'`),
      `Number = () => '}'; ${thrown(`'Error: x\\n    at code:1:1'`)}`,
      `export default () => 1; ${thrown(`'Error: x\\n    at code:' + '9'.repeat(400) + ':3'`)}`,
    ]) {
      const issues = await sandbox.check({ tenantId: 'tenant', name: 'code', code })
      t.match(issues, [{ line: 1, message: /x$/ }], code)
      t.match(await run(code), { kind: 'unusable', issues }, code)
    }
    for (const forged of ['({ kind: "no-function", message: 1 })', 'null', '({ kind: 1, line: "1" })']) {
      const code = `Object.prototype.toJSON = () => ${forged}; module.exports = () => 1`
      t.same(await sandbox.check({ tenantId: 'tenant', name: 'code', code }), [], code)
      t.equal((await run(code)).kind, 'returned', code)
    }
    t.same(
      before.filter((pid) => pids.has(pid)),
      before,
    )
  })

  t.test('a cipher of the top level keeps its key in each invocation', async (t) => {
    const code = `const { createCipheriv } = require('crypto')
      const start = (byte) => createCipheriv('aes-128-ctr', Buffer.alloc(16, byte), Buffer.alloc(16))
      const top = start(1)
      module.exports = () => {
        const own = start(2)
        return [top, start(1), own, start(2)].map((cipher) => cipher.update('hello', 'utf8', 'hex'))
      }`
    t.same(await sandbox.check({ tenantId: 'tenant', name: 'code', code }), [])
    for (let call = 0; call < 3; call++) {
      const [top, first, own, second] = returned(await run(code)) as string[]
      t.equal(top, first)
      t.equal(own, second)
      t.not(first, second)
    }
  })

  t.test('passes calls to the host, and its errors by name', async (t) => {
    const seen: unknown[] = []
    const host: SandboxHost = {
      sdk: true,
      call: async (method, input) => {
        seen.push([method, input])
        if (method === 'tokens.delete') throw new AppError('forbidden', 'Not with this permission.')
        if (method === 'tokens.list') throw new Error('a secret of ours')
        return { id: 'token' }
      },
    }
    const code = `module.exports = async (req) => {
      const token = await req.bt.tokens.retrieve('id')
      const errors = []
      for (const call of [() => req.bt.tokens.delete('id'), () => req.bt.tokens.list()])
        await call().catch((error) => errors.push([error.name, error.message, error.status]))
      return { token, errors }
    }`
    const result = returned(await run(code, { host })) as { token: unknown; errors: unknown[][] }
    t.same(result.token, { id: 'token' })
    t.same(result.errors[0], ['AuthorizationError', 'Not with this permission.', 403])
    t.notMatch(JSON.stringify(result.errors[1]), /secret/)
    t.equal(seen.length, 3)
  })

  t.test('aborts host calls of an invocation that has ended', async (t) => {
    const aborted = Promise.withResolvers<string>()
    const host: SandboxHost = {
      sdk: true,
      call: (method, _input, signal) =>
        method === 'tokens.delete'
          ? new Promise(() => signal.addEventListener('abort', () => aborted.resolve('aborted')))
          : Promise.resolve(1),
    }
    const code =
      'module.exports = async (req) => { req.bt.tokens.delete("x"); return await req.bt.tokens.retrieve("x") }'
    t.equal(returned(await run(code, { host })), 1)
    t.equal(await aborted.promise, 'aborted')
  })

  t.test('lets invocations wait concurrently', async (t) => {
    let waiting = 0
    const all = Promise.withResolvers<void>()
    const host: SandboxHost = {
      sdk: true,
      call: async () => {
        if (++waiting === 20) all.resolve()
        await all.promise
        return { waiting }
      },
    }
    const code = 'module.exports = async (req) => (await req.bt.tokens.retrieve("x")).waiting'
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => run(code, { host, tenantId: `tenant ${n % 4}` })),
    )
    t.same(
      results.map(returned),
      results.map(() => 20),
    )
  })

  t.test('collects the console up to its limits', async (t) => {
    t.match(await run('module.exports = () => { console.log("a", 1); console.error({ b: 2 }) }'), {
      console: [
        { level: 'log', text: 'a 1' },
        { level: 'error', text: '{ b: 2 }' },
      ],
    })
    const flood = await run('module.exports = () => { for (let i = 0; i < 1000; i++) console.log(i) }')
    t.ok(flood.console.length <= 201, `${flood.console.length} lines`)
    const endless = 'module.exports = () => { console.log("before"); for (;;); }'
    let stopped = await run(endless, { limits: { cpuMs: 100 } })
    // A child that a busy machine did not schedule in time was killed, with its console.
    for (let tries = 1; stopped.console.length === 0 && tries < 20; tries++)
      stopped = await run(endless, { limits: { cpuMs: 100 } })
    t.match(stopped, { kind: 'limit', limit: 'cpu', console: [{ text: 'before' }] })
  })

  t.test('reports the time of each invocation', async (t) => {
    const { timing } = await run(
      'module.exports = () => { const end = Date.now() + 30; while (Date.now() < end); }',
    )
    t.ok(timing.wall >= 29)
    t.ok(timing.waited <= timing.wall)
    t.match(await metrics.registry.metrics(), /sidevault_sandbox_invocations_total\{outcome="returned"\} \d+/)
  })
})
