import { join } from 'node:path'
import t from 'tap'
import type { Log } from '../../src/common/log.ts'
import { loadConfig } from '../../src/config.ts'
import { createLiveSettings } from '../../src/supervisor/live-settings.ts'
import { directoryFor } from '../kit/directory.ts'
import { silentLog } from '../kit/egress.ts'

t.test('a process born while the others are told begins with what they are told', async (t) => {
  const directory = directoryFor(t)
  const config = loadConfig({}, { file: undefined, cwd: directory })
  const warnings: unknown[] = []
  const bundle = join(directory, 'missing', 'trust.pem')
  let told: unknown
  let begins: unknown
  const settings = createLiveSettings(
    { config, trustBundle: 'trust.pem' },
    {
      control: { change: async () => {}, restarted() {}, status: () => [], close: async () => {} },
      envoyOptions: async () => ({
        gatewaySockets: [],
        apiSocket: '',
        envoyAdminSocket: '',
        brands: [],
        listen: { host: '', port: 0 },
        egress: { allow: [], http: false, trustBundle: bundle },
      }),
      tell: async (accepted) => {
        told = accepted
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
  t.same(told, { content: {}, trustBundle: bundle })
  t.same(begins, told)
  t.match(warnings, [/trust bundles are not removed: .*ENOENT/], 'which undoes nothing')
})
