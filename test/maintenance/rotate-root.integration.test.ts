import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Secret } from '../../src/common/secret.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import { openKeys } from '../../src/keys/open.ts'
import { loadRootKey } from '../../src/keys/root-key.ts'
import { rotateRoot } from '../../src/maintenance/rotate-root.ts'
import type { KeyStore } from '../../src/store/keys/types.ts'
import type { Store } from '../../src/store/store.ts'
import { addTenant, openTestStore, type Test } from '../keys/kit.ts'

const clock = { now: () => 1_000 }
const ENV: Record<string, string> = {
  OLD: Buffer.alloc(32, 1).toString('base64'),
  NEW: Buffer.alloc(32, 2).toString('base64'),
  PHRASE: 'correct horse battery staple',
}
const AGAIN = { to: undefined, finish: false }
const context = { tokenId: 'token-1', type: 'card', version: 1, part: 'sealed' } as const

/** What `openStoreKeys` does for a process that starts with this configuration. */
const opened = async (store: Store, config: Config) => {
  const load = () =>
    loadRootKey(config.rootKeySource?.reveal(), { dataDir: config.dataDir, create: false, env: ENV })
  return openKeys({ keys: store.keys, clock }, { rootKey: await load(), create: false, reload: load })
}

/** A store with keys and two tenants, and the command over it; `source`: where its root key comes from. */
const world = async (t: Test, source?: string) => {
  const store = await openTestStore(t)
  const dataDir = t.testdir()
  const configOf = (rootKeySource: string | undefined): Config => ({
    ...loadConfig({ SIDEVAULT_DATA_DIR: dataDir }),
    rootKeySource: rootKeySource === undefined ? undefined : new Secret(rootKeySource),
  })
  const config = configOf(source)
  const first = await loadRootKey(source, { dataDir, create: true, env: ENV })
  const reload = () => loadRootKey(source, { dataDir, create: false, env: ENV })
  const keys = await openKeys({ keys: store.keys, clock }, { rootKey: first, create: true, reload })
  for (const id of ['tenant-1', 'tenant-2']) await addTenant(store, id, await keys.newTenantKeys(id, 0))
  const sealed = (await keys.tenant('tenant-1')).seal(Buffer.from('value'), {
    tenantId: 'tenant-1',
    ...context,
  })
  const lines: string[] = []
  const run = (
    options: { to?: string | undefined; finish?: boolean; abort?: boolean } = {},
    { as = config, keyStore = store.keys }: { as?: Config; keyStore?: KeyStore } = {},
  ) => {
    const deps: Parameters<typeof rotateRoot>[0] = {
      vault: { store: { ...store, keys: keyStore }, record: async () => {} },
      load: () => loadRootKey(as.rootKeySource?.reveal(), { dataDir, create: false, env: ENV }),
      next: async (from) => ({ key: await loadRootKey(from, { dataDir, create: true, env: ENV }) }),
      clock,
      print: (line) => void lines.push(line),
    }
    return rotateRoot(deps, as, { ...AGAIN, ...options })
  }
  /** A process that starts now opens what was sealed at the beginning, for both tenants' keys. */
  const opens = async (as = config) => {
    const now = await opened(store, as)
    await now.tenant('tenant-2')
    const ring = await now.tenant('tenant-1', [sealed])
    return ring.open(sealed, { tenantId: 'tenant-1', ...context }).toString() === 'value'
  }
  return { store, dataDir, config, configOf, keys, sealed, lines, run, opens }
}

t.test('a key file is replaced atomically, and the old key opens nothing any more', async (t) => {
  const { store, dataDir, keys, sealed, lines, run, opens } = await world(t)
  const before = readFileSync(join(dataDir, 'root.key'), 'utf8')
  const macs = keys.mac('audit', 'line')
  await run()
  t.match(lines, [/^wrapped 7 keys/, /^retained .*root\.key\.[0-9a-f]{16}: /, /^rotated /])
  t.ok(await opens())
  const after = await openKeys(
    { keys: store.keys, clock },
    { rootKey: await loadRootKey(undefined, { dataDir, create: false, env: ENV }), create: false },
  )
  t.equal(after.mac('audit', 'line'), macs, "the service's keys are the same keys")
  t.same(
    (await store.keys.keys('')).map(({ purpose }) => purpose),
    ['api-key', 'audit', 'check'],
  )
  const retained = readdirSync(dataDir).filter((name) => name.startsWith('root.key.'))
  t.equal(retained.length, 1)
  t.equal(readFileSync(join(dataDir, retained[0]!), 'utf8'), before)

  const running = await keys.tenant('tenant-2')
  t.ok(running, 'a process that noticed nothing of it reads the key file again')
  t.equal(
    (await keys.tenant('tenant-1')).open(sealed, { tenantId: 'tenant-1', ...context }).toString(),
    'value',
  )
  writeFileSync(join(dataDir, 'root.key'), before)
  await t.rejects(opens(), { message: /The root key does not match the store/ })
})

t.test(
  'after a kill at any write, everything opens with the key file, and another run completes',
  async (t) => {
    for (let fatal = 1; ; fatal++) {
      const { store, keys, run, opens, lines } = await world(t)
      let writes = 0
      const dying =
        <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          if (++writes === fatal) throw new Error('killed')
          const response = await work(...args)
          if (++writes === fatal) throw new Error('killed')
          return response
        }
      const keyStore: KeyStore = {
        ...store.keys,
        add: dying(store.keys.add),
        rewrap: dying(store.keys.rewrap),
        endRootChange: dying(store.keys.endRootChange),
      }
      const outcome = await run({}, { keyStore }).then(
        () => 'done',
        (thrown: Error) => thrown.message,
      )
      t.ok(await opens(), `opens after ${fatal}`)
      t.ok(await keys.tenant('tenant-2'), 'so does the process that runs')
      if (outcome === 'done') {
        t.ok(fatal > 6, 'all writes were tried')
        return
      }
      t.equal(outcome, 'killed')
      if ((await store.keys.keys('')).length > 3) {
        await run()
        t.match(lines.at(-1), /^(rotated|retained) /)
        t.ok(await opens())
      }
      t.equal((await store.keys.keys('')).length, 3)
    }
  },
)

t.test('changing the source takes two steps, between which both root keys open everything', async (t) => {
  const { store, config, configOf, keys, lines, run, opens } = await world(t, 'env:OLD')
  const next = configOf('env:NEW')
  await t.rejects(run(), { message: /is not in a file/ })
  await t.rejects(run({ to: 'env:OLD' }), { message: /same as the old one/ })
  await t.rejects(run({ finish: true }), { message: /No root key rotation is in progress/ })
  await run({ to: 'env:NEW' })
  t.match(lines.at(-1), /Both root keys open this store now.*--finish/)
  t.ok(await opens())
  t.ok(await opens(next))
  t.ok(await keys.tenant('tenant-2'))
  for (const as of [config, next]) {
    const id = `tenant-${as === next ? 'new' : 'old'}`
    await addTenant(store, id, await (await opened(store, as)).newTenantKeys(id, 0))
    t.ok(await (await opened(store, config)).tenant(id))
    t.ok(await (await opened(store, next)).tenant(id))
  }
  await t.rejects(run({ to: 'passphrase:env:PHRASE' }), { message: /another root key is in progress/ })
  await t.rejects(run({ finish: true }), { message: /still has the old root key/ })
  await t.rejects(run({ to: 'env:OLD' }, { as: next }), { message: /already has the new key/ })
  await run({ to: 'env:NEW' })
  t.match(lines, [/^wrapped 7 keys/, /./, /^wrapped 0 keys/])
  await run({ finish: true }, { as: next })
  t.match(lines.at(-1), /^check .*before its next start: SIDEVAULT_ROOT_KEY/)
  t.ok(await opens(next))
  await t.rejects(opens(), { message: /The root key does not match the store/ })
  t.ok(await keys.tenant('tenant-new'), 'a process that knows both goes on')
})

t.test(
  'a rotation whose new key is lost goes back to the old one, also after a kill at any write',
  async (t) => {
    for (let fatal = 1; ; fatal++) {
      const { store, configOf, keys, lines, run, opens } = await world(t, 'env:OLD')
      const next = configOf('env:NEW')
      await t.rejects(run({ abort: true }), { message: /No root key rotation is in progress/ })
      await run({ to: 'env:NEW' })
      const running = await opened(store, next)
      await t.rejects(run({ abort: true }, { as: next }), { message: /already has the new root key/ })
      let writes = 0
      const dying =
        <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          if (++writes === fatal) throw new Error('killed')
          const response = await work(...args)
          if (++writes === fatal) throw new Error('killed')
          return response
        }
      const keyStore: KeyStore = {
        ...store.keys,
        rewrap: dying(store.keys.rewrap),
        endRootChange: dying(store.keys.endRootChange),
      }
      const outcome = await run({ abort: true }, { keyStore }).then(
        () => 'done',
        (thrown: Error) => thrown.message,
      )
      t.ok(await opens(), `opens after ${fatal}`)
      for (const process of [keys, running])
        t.ok(await process.tenant('tenant-2'), 'so do processes that run')
      if (outcome === 'done') {
        t.ok(fatal > 6, 'all writes were tried')
        t.match(lines.slice(-2), [/^rotated the root key is/, /^check /])
        await t.rejects(opens(next), { message: /The root key does not match the store/ })
        return
      }
      t.equal(outcome, 'killed')
      if ((await store.keys.keys('')).length > 3)
        await run({ abort: true }).catch(() => run({ finish: true }))
      t.ok(await opens())
      t.equal((await store.keys.keys('')).length, 3)
    }
  },
)

t.test('a passphrase replaces a key, and another passphrase replaces that', async (t) => {
  const { configOf, run, opens } = await world(t, 'env:OLD')
  const [first, second] = [configOf('passphrase:env:PHRASE'), configOf('passphrase:tr0ub4dor and three')]
  await run({ to: 'passphrase:env:PHRASE' })
  await run({ finish: true }, { as: first })
  t.ok(await opens(first))
  await run({ to: 'passphrase:tr0ub4dor and three' }, { as: first })
  await run({ finish: true }, { as: second })
  t.ok(await opens(second))
  await t.rejects(opens(first), { message: /The root key does not match the store/ })
})

t.test(
  'a key of a slow process under the old root key is rewrapped, or rejected after the end',
  async (t) => {
    const { store, configOf, keys, run } = await world(t, 'env:OLD')
    const next = configOf('env:NEW')
    const [early, late] = [await keys.newTenantKeys('early', 0), await keys.newTenantKeys('late', 0)]
    await run({ to: 'env:NEW' })
    await addTenant(store, 'early', early)
    await run({ finish: true }, { as: next })
    t.ok(await (await opened(store, next)).tenant('early'))
    await t.rejects(addTenant(store, 'late', late), {
      code: 'gateway_timeout',
      message: /root key was rotated.*Retry/,
    })
    t.equal(await store.tenants.get('late'), undefined)
  },
)

t.test('an altered key row stops the rotation, and all others still open', async (t) => {
  const { store, configOf, run } = await world(t, 'env:OLD')
  const [row] = await store.keys.keys('tenant-1')
  const to = Buffer.from(row!.wrapped)
  to[40]! ^= 1
  await store.keys.rewrap([{ ...row!, from: row!.wrapped, to }])
  await t.rejects(run({ to: 'env:NEW' }), {
    message: /key "data" version 1 of tenant "tenant-1" cannot be unwrapped/,
  })
  for (const source of ['env:OLD', 'env:NEW'])
    t.ok(await (await opened(store, configOf(source))).tenant('tenant-2'))
})
