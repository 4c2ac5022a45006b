import t from 'tap'
import { systemClock } from '../../src/common/clock.ts'
import { createLog } from '../../src/common/log.ts'
import { programVersion } from '../../src/common/version.ts'
import { loadConfig } from '../../src/config.ts'
import { loadRootKey } from '../../src/keys/root-key.ts'
import { rotateRoot } from '../../src/maintenance/rotate-root.ts'
import { describeNode } from '../../src/roles/node-info.ts'
import { openRuntime } from '../../src/roles/runtime.ts'
import { until } from '../supervisor/processes.ts'

t.test('metrics name the version and the loaded plugins, and when the root key came into use', async (t) => {
  const dataDir = t.testdir()
  const config = loadConfig({ SIDEVAULT_DATA_DIR: dataDir })
  const runtime = await openRuntime(config, {
    name: 'admin',
    owner: true,
    log: createLog('test', 'silent'),
  })
  t.teardown(() => runtime.close())
  describeNode(runtime)
  const { store, metrics } = runtime
  const rootKeyAt = async () =>
    1_000 *
    Number(
      /^sidevault_root_key_created_timestamp_seconds ([\d.]+)$/m.exec(await metrics.registry.metrics())?.[1],
    )
  t.match(await metrics.registry.metrics(), `sidevault_build_info{version="${programVersion()}"} 1\n`)
  t.match(await metrics.registry.metrics(), /^sidevault_plugin_info\{plugin="tokens",version="[\d.]+"\} 1$/m)
  await until('the first key is read', async () => (await rootKeyAt()) > 0)
  const first = await rootKeyAt()
  t.ok(first > Date.UTC(2026, 0), 'in seconds since 1970')

  const later = first + 86_400_000
  const load = (create = false) => loadRootKey(undefined, { dataDir, create, env: {} })
  await rotateRoot(
    {
      vault: { store, record: async () => {} },
      load,
      next: async (source) => ({ key: await loadRootKey(source, { dataDir, create: false, env: {} }) }),
      clock: { ...systemClock, now: () => later },
      print: () => {},
    },
    config,
    { to: undefined, finish: false },
  )
  await until('the new key is read', async () => (await rootKeyAt()) === later)
  t.equal(await rootKeyAt(), later, 'the next scrape has the new one')
})
