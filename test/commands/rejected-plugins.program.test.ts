import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort, startSidevault } from '../kit/sidevault.ts'
import { BAD_PLUGINS, type BadPlugin, ENDLESS, EXITING, GOOD_PLUGIN } from './bad-plugins.ts'
import { folderOf, listed, sidevault } from './run.ts'

// Most of the time they wait for plugins that do not come back.
t.jobs = 2

const start = async (cwd: string, plugins: readonly BadPlugin[], data = 'data') => {
  const listen = `127.0.0.1:${await freePort()}`
  return sidevault(cwd, ['start'], {
    SIDEVAULT_LISTEN: listen,
    SIDEVAULT_DATA_DIR: join(cwd, data),
    SIDEVAULT_PLUGINS: listed(plugins),
    SIDEVAULT_LOG_LEVEL: 'fatal',
  })
}

t.test(
  'a start reports every issue of every plugin with its fix, once, and nothing runs',
  { buffered: true },
  async (t) => {
    const folder = folderOf(t, [...BAD_PLUGINS, GOOD_PLUGIN])
    const { code, text, left } = await start(folder, [...BAD_PLUGINS, GOOD_PLUGIN])
    t.equal(code, 2, text)
    for (const { reported } of BAD_PLUGINS) t.match(text, reported)
    t.match(text, new RegExp(`${BAD_PLUGINS.length} issues in the plugins; nothing was started`))
    t.equal(text.split('it threw: no disk').length, 2, 'reported once')
    t.notOk(existsSync(join(folder, 'good', 'started')), 'the start of a good plugin was not called')
    t.equal(left, 0, 'no process is left')

    await t.test('the same folder starts, with its first key, once the issues are fixed', async (t) => {
      const vault = await startSidevault({
        cwd: folder,
        dataDir: join(folder, 'data'),
        env: { SIDEVAULT_PLUGINS: '*,./good' },
      })
      t.ok(existsSync(join(folder, 'good', 'started')))
      t.equal((await vault.call('GET', '/applications/key', { key: vault.managementKey })).status, 200)
      t.equal(await vault.stop(), 0)
    })
  },
)

t.test('a plugin that never returns, or exits the process, is named', { buffered: true }, async (t) => {
  const plugins = [ENDLESS, EXITING]
  const folder = folderOf(t, plugins)
  await Promise.all(
    plugins.map(async (bad) => {
      const { text, code, left } = await start(folder, [bad], `data-${bad.name}`)
      t.match(text, bad.reported)
      t.not(code, 0)
      t.equal(left, 0, 'no process is left')
    }),
  )
})

t.test('a plugin whose start fails stops the service and is named', { buffered: true }, async (t) => {
  const failing: BadPlugin = {
    name: 'failing',
    source:
      "export const plugin = { api: 1, name: 'failing', version: '1.0.0', setup: () => ({ start: async () => { throw new Error('no port') } }) }\n",
    reported: /plugin "failing" › start: it failed: no port\./,
  }
  const { code, text, left } = await start(folderOf(t, [failing]), [failing])
  t.match(text, failing.reported)
  t.equal(code, 2)
  t.equal(left, 0)
})
