import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Log } from '../../src/common/log.ts'
import { loadConfig } from '../../src/config.ts'
import { NackError } from '../../src/control-plane/discovery.ts'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import type { XdsServer } from '../../src/control-plane/xds-server.ts'
import { createLiveSettings, fingerprintOf } from '../../src/supervisor/live-settings.ts'
import { directoryFor } from '../kit/directory.ts'
import { silentLog } from '../kit/egress.ts'

// Watching alone keeps no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const OPTIONS: BootstrapOptions = {
  gatewaySockets: [],
  apiSocket: '',
  envoyAdminSocket: '',
  prefixes: [],
  listen: { host: '', port: 0 },
  egress: { allow: [], http: false, trustBundle: 'trust.pem' },
}
const xds: XdsServer = {
  change: async () => {},
  restarted() {},
  namesFile: () => true,
  status: () => [],
  close: async () => {},
}

t.test('certificates that change before or during a read, or are not applied, are read again', async (t) => {
  const directory = directoryFor(t)
  const path = (name: string) => join(directory, name)
  for (const name of ['cert.pem', 'key.pem']) writeFileSync(path(name), 'first')
  const env = { SIDEVAULT_TLS_CERT: path('cert.pem'), SIDEVAULT_TLS_KEY: path('key.pem') }
  const config = loadConfig(env, { file: undefined, cwd: directory })
  const files = await fingerprintOf(config)
  writeFileSync(path('cert.pem'), 'another, before the first look')
  const read: string[] = []
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let changes = 0
  const settings = createLiveSettings(
    { config, trustBundle: path('trust.pem'), files },
    {
      xds: {
        ...xds,
        change: async () => {
          if (++changes === 1) throw new NackError([])
        },
      },
      envoyOptions: async () => {
        read.push(readFileSync(path('cert.pem'), 'utf8'))
        if (read.length === 2) writeFileSync(path('cert.pem'), 'one more, while it is read')
        return OPTIONS
      },
      notify: async () => {
        if (read.length === 3) resolve()
      },
      env,
      configFile: undefined,
      log: silentLog(),
    },
  )
  t.teardown(() => settings.close())
  await done
  const second = 'another, before the first look'
  t.same(read, [second, second, 'one more, while it is read'])
})

t.test('a process spawned while the others are notified starts with the new settings', async (t) => {
  const directory = directoryFor(t)
  const config = loadConfig({}, { file: undefined, cwd: directory })
  const warnings: unknown[] = []
  const bundle = join(directory, 'missing', 'trust.pem')
  let reported: unknown
  let begins: unknown
  const settings = createLiveSettings(
    { config, trustBundle: 'trust.pem', files: '' },
    {
      xds,
      envoyOptions: async () => ({ ...OPTIONS, egress: { ...OPTIONS.egress, trustBundle: bundle } }),
      notify: async (accepted) => {
        reported = accepted
        begins = settings.accepted
      },
      env: {},
      configFile: undefined,
      log: { ...silentLog(), warn: (message: unknown) => warnings.push(message) } as unknown as Log,
    },
  )
  t.teardown(() => settings.close())
  t.equal(settings.current, config)
  t.equal(settings.accepted.trustBundle, 'trust.pem')
  await settings.reload()
  t.not(settings.current, config)
  t.same(reported, { content: {}, trustBundle: bundle })
  t.same(begins, reported)
  t.match(warnings, [/trust bundles cannot be removed: .*ENOENT/], 'which undoes nothing')
})
