import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { AppError } from '../../src/common/errors.ts'
import { createLog } from '../../src/common/log.ts'
import { loadConfig } from '../../src/config.ts'
import { RootKeySourceError } from '../../src/keys/root-key.ts'
import { runBackup } from '../../src/maintenance/backup.ts'
import { runRotateRoot } from '../../src/maintenance/keys.ts'
import { bootstrapTenant } from '../../src/roles/bootstrap-tenant.ts'
import { openRuntime } from '../../src/roles/runtime.ts'
import { startTransit } from '../kit/transit.ts'

const log = createLog('test', 'silent')

const configOf = (dataDir: string, source: string, extra: Record<string, string> = {}) =>
  loadConfig({ SIDEVAULT_DATA_DIR: dataDir, SIDEVAULT_ROOT_KEY: source, ...extra })

let started = 0

/** A process with a journal of its own. */
const start = (config: ReturnType<typeof configOf>, owner: boolean) =>
  openRuntime(config, { name: `process-${started++}`, owner, log })

t.test('a vault whose root key a Transit server wraps starts, rotates and changes its source', async (t) => {
  const transit = await startTransit(t)
  const before = process.env
  process.env = { ...before, ...transit.env, NEW: Buffer.alloc(32, 9).toString('base64') }
  t.teardown(() => {
    process.env = before
  })
  const dataDir = t.testdir()
  const config = configOf(dataDir, transit.source)
  const first = await start(config, true)
  await bootstrapTenant(first, { bootstrapKey: undefined, now: 1, log })
  const [tenant] = await first.store.tenants.list()
  t.notOk(readdirSync(dataDir).includes('root.key'), 'nothing of the root key lies beside the data')
  const calls = transit.state.calls.length

  const second = await start(config, false)
  t.ok(await second.keys.tenant(tenant!.id), 'another process, with nothing but the store and the server')
  t.equal(transit.state.calls.length, calls + 1)

  transit.rotate()
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  await runRotateRoot(config, { to: transit.source, finish: false }, print)
  t.match(lines.at(-1), /^rotated /, 'every process finds the new one at the same place')
  for (const { keys } of [first, second]) t.ok(await keys.tenant(tenant!.id), 'running ones go on')
  transit.state.minimum = 2
  await (await start(config, false)).close()
  const retained = (await first.store.keys.keys('')).filter(({ purpose }) => purpose === 'root-wrapped')
  t.same(
    retained.map(({ version }) => version),
    [2],
  )
  t.match(retained[0]?.wrapped.toString(), /vault:v2:/)

  transit.state.sealed = true
  await t.rejects(start(config, false), { code: 'gateway_timeout' })
  t.ok(await first.keys.tenant(tenant!.id), 'a sealed server holds up starts only')
  transit.state.sealed = false

  await runRotateRoot(config, { to: 'env:NEW', finish: false }, print)
  await runRotateRoot(config, { to: undefined, finish: false, abort: true }, print)
  await (await start(config, false)).close()

  await runRotateRoot(config, { to: 'env:NEW', finish: false }, print)
  const next = configOf(dataDir, 'env:NEW')
  await runRotateRoot(next, { to: undefined, finish: true }, print)
  await (await start(next, false)).close()
  await t.rejects(start(config, false), {
    code: 'invalid',
    message: /no root key wrapped by the key provider/,
  })
  await first.close()
  await second.close()
})

t.test('during a rotation between two Transit servers, starts with either key work', async (t) => {
  const [transit, other] = [await startTransit(t), await startTransit(t)]
  const before = process.env
  process.env = { ...before, ...transit.env }
  t.teardown(() => {
    process.env = before
  })
  const dataDir = t.testdir()
  const [from, to] = [configOf(dataDir, transit.source), configOf(dataDir, other.source)]
  const first = await start(from, true)
  await bootstrapTenant(first, { bootstrapKey: undefined, now: 1, log })
  await first.close()
  const print = () => {}
  await runRotateRoot(from, { to: other.source, finish: false }, print)
  for (const config of [from, to]) await (await start(config, false)).close()
  await t.rejects(runRotateRoot(from, { to: undefined, finish: false, abort: true }, print), {
    message: /cannot be aborted/,
  })
  await t.rejects(runBackup(from, join(dataDir, 'copy'), print), {
    code: 'conflict',
    message: /root key rotation is in progress/,
  })
  await runRotateRoot(to, { to: undefined, finish: true }, print)
  await (await start(to, false)).close()
  await t.rejects(start(from, false), { message: /./ })
  await runBackup(to, join(dataDir, 'copy'), print)
})

t.test('a key provider loads from the plugin list, and nothing else of its plugin runs', async (t) => {
  const base = t.testdir({ data: {} })
  const folder = join(base, 'safe')
  mkdirSync(folder)
  writeFileSync(join(folder, 'index.js'), 'throw new Error("too early")')
  writeFileSync(
    join(folder, 'key-provider.js'),
    `export const keyProvider = { scheme: 'safe', wrap: async (key) => Buffer.from(key).toString('hex'),
      unwrap: async (text, { address }) => { if (address !== 'here') throw new Error('where?'); return Buffer.from(text, 'hex') } }`,
  )
  writeFileSync(join(base, 'package.json'), '{"type":"module"}')
  const config = configOf(join(base, 'data'), 'safe:here', { SIDEVAULT_PLUGINS: `*,${folder}` })
  await t.rejects(start(config, true), /too early/)
  await t.rejects(start({ ...config, plugins: ['*'] }, true), {
    code: 'invalid',
    message: /no plugin of SIDEVAULT_PLUGINS brings a key provider/,
  })
})

t.test(
  'a key provider gets its configuration with defaults, and a start reports what its schema rejects',
  async (t) => {
    const base = t.testdir({
      data: {},
      'package.json': '{"type":"module"}',
      safe: {
        'index.js': `export const plugin = { api: 1, name: 'safe-plugin', version: '1.0.0', setup: () => ({}) }`,
        'key-provider.js': `import { defineKeyProvider, Type } from 'sidevault/sdk'
        const xor = (bytes, { config }) => Buffer.from(bytes).map((byte) => byte ^ config.pad)
        export const keyProvider = defineKeyProvider({
          scheme: 'safe',
          config: Type.Object({ url: Type.String({ pattern: '^https:' }), pad: Type.Integer({ default: 7 }) }),
          wrap: async (key, place) => xor(key, place).toString('hex'),
          unwrap: async (text, place) => xor(Buffer.from(text, 'hex'), place),
          health: async ({ address, config }) => ({ degraded: \`\${address} of \${config.url} is slow.\` }),
        })`,
      },
    })
    const start = (plugin_config: object) => {
      const SIDEVAULT_PLUGIN_CONFIG = JSON.stringify(plugin_config)
      const env = { SIDEVAULT_PLUGINS: `*,${join(base, 'safe')}`, SIDEVAULT_PLUGIN_CONFIG }
      return openRuntime(configOf(join(base, 'data'), 'safe:here', env), {
        name: `process-${started++}`,
        owner: true,
        log,
      })
    }
    const place = 'plugin configuration › "safe:"'
    const rejected = await start({ 'safe:': { url: 'secret-thing', pad: 'x' } }).catch((error) => error)
    t.type(rejected, RootKeySourceError)
    t.match(rejected, { code: 'invalid' })
    for (const path of ['url', 'pad'])
      t.ok(rejected.message.includes(`${place}: "${path}" must`), rejected.message)
    t.notMatch(rejected.message, /secret-thing/)
    await t.rejects(start({}), { message: /plugin configuration › "safe:": "url" is required\. Correct/ })
    const valid = { 'safe:': { url: 'https://kms' } }
    await t.rejects(start({ ...valid, 'other:': {}, 'transit:': { a: 1 } }), {
      message:
        /2 issues.*"other:": there is no key provider of this scheme.*"transit:": the key provider takes no configuration/s,
    })
    const runtime = await start(valid)
    t.teardown(() => runtime.close())
    await bootstrapTenant(runtime, { bootstrapKey: undefined, now: 1, log })
    const [source] = runtime.health.filter(({ kind }) => kind === 'key-provider')
    t.equal(source?.component, 'key-provider:safe')
    t.same(await source?.health(AbortSignal.timeout(10_000)), { degraded: 'here of https://kms is slow.' })
  },
)

t.test('a rotated key file that cannot be read is an outage to callers, and a path in the log', async (t) => {
  const dataDir = t.testdir()
  const config = configOf(dataDir, '')
  const lines: object[] = []
  const own = createLog('test', 'silent')
  own.error = (...args: unknown[]) => void lines.push(args[0] as object)
  const runtime = await openRuntime(config, {
    name: `process-${started++}`,
    owner: true,
    log: own,
  })
  t.teardown(() => runtime.close())
  await bootstrapTenant(runtime, { bootstrapKey: undefined, now: 1, log })
  const [tenant] = await runtime.store.tenants.list()
  await runRotateRoot(config, { to: undefined, finish: false }, () => {})
  const file = join(dataDir, 'root.key')
  const text = readFileSync(file)
  rmSync(file)
  // Cannot be opened, not even by root.
  symlinkSync(file, file)
  const failure: AppError = await Promise.resolve(runtime.keys.tenant(tenant!.id)).then(
    () => t.fail('opened') as never,
    (thrown) => thrown,
  )
  t.match(failure.toProblem(), { status: 503, code: 'overloaded' })
  t.notMatch(failure.message, dataDir)
  t.match(lines, [{ reason: `Could not read the key file "${file}" (ELOOP)` }])
  rmSync(file)
  writeFileSync(file, text, { mode: 0o600 })
  t.ok(await runtime.keys.tenant(tenant!.id), 'the next call tries again')
})
