import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { withKernel } from '../../src/maintenance/open-kernel.ts'
import { configOf, openVault, twoFolders } from './vault.ts'

t.test('a command with plugins does not start their work in the background', async (t) => {
  const { here, file } = twoFolders(t)
  const [plugin, marker] = [file('background'), file('started')]
  mkdirSync(plugin)
  writeFileSync(`${plugin}/package.json`, '{"type":"module"}')
  writeFileSync(
    `${plugin}/index.js`,
    `import { writeFileSync } from 'node:fs'
    export const plugin = { api: 1, name: 'background', version: '1.0.0', setup: () => ({
      start: () => writeFileSync(${JSON.stringify(marker)}, ''),
    }) }`,
  )
  await (await openVault(here)).close()
  const config = configOf(here, { SIDEVAULT_PLUGINS: `*,${plugin}` })
  await withKernel(config, async ({ kernel }) => {
    t.ok(
      kernel.registry.plugins.some(({ plugin }) => plugin.name === 'background'),
      'the plugin is loaded',
    )
  })
  t.notOk(existsSync(marker))
  await (await openVault(here, undefined, { SIDEVAULT_PLUGINS: `*,${plugin}` })).close()
  t.ok(existsSync(marker), 'the service starts it')
})
