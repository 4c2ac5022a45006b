import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkPlugins } from '../../src/commands/plugins/check.ts'
import { BAD_PLUGINS, type BadPlugin, ENDLESS, EXITING } from './bad-plugins.ts'
import { command } from './in-process.ts'
import { folderOf } from './run.ts'

// Most of the time they wait for plugins that do not come back.
t.jobs = 2

const check = async (t: Test, plugins: readonly BadPlugin[], folder: string) => {
  let text = ''
  const sources = plugins.map(({ name }) => join(folder, name))
  const found = await checkPlugins({}, undefined, sources, (printed) => {
    text += printed
  })
  t.ok(found, text)
  for (const { reported } of plugins) t.match(text, reported)
  return text
}

// Commands have one working directory, which the end of another test would change: none runs beside them.
await Promise.all([
  t.test('a check reports only the issue of each plugin, with its fix', { buffered: true }, async (t) => {
    const all = await check(t, BAD_PLUGINS, folderOf(t, BAD_PLUGINS))
    t.match(all, new RegExp(`^${BAD_PLUGINS.length} issues:$`, 'm'))
  }),
  t.test(
    'a check reports an issue once, also of code that never returns or exits the process',
    { buffered: true },
    async (t) => {
      const plugins = [BAD_PLUGINS[0] as BadPlugin, ENDLESS, EXITING]
      const folder = folderOf(t, plugins)
      await Promise.all(
        plugins.map(async (plugin) => t.match(await check(t, [plugin], folder), /^One issue:$/m)),
      )
    },
  ),
])

await t.test('configuration that a plugin rejects is reported without the values', async (t) => {
  const strict: BadPlugin = {
    name: 'strict',
    source: `import { definePlugin, Type } from 'sidevault/sdk'
export const plugin = definePlugin({ api: 1, name: 'strict', version: '1.0.0',
  config: Type.Object({ url: Type.String({ pattern: '^https://' }) }), setup: () => ({}) })\n`,
    reported: /plugin "strict" › config: "url" must match \^https:\/\//,
  }
  const folder = folderOf(t, [strict])
  const list = (config: unknown) =>
    command(folder, ['plugins', 'list'], {
      SIDEVAULT_PLUGINS: './strict',
      SIDEVAULT_PLUGIN_CONFIG: JSON.stringify(config),
    })
  const wrong = await list({ strict: { url: 'secret-thing' } })
  const foreign = await list({ strict: { url: 'https://x' }, strct: {} })
  const right = await list({ strict: { url: 'https://x' } })
  t.match(wrong, { code: 2, text: strict.reported })
  t.notMatch(wrong.text, /secret-thing/)
  t.match(foreign, { code: 2, text: /plugin configuration › "strct": there is no plugin of this name/ })
  const json = await command(folder, ['plugins', 'list', '--json'], { SIDEVAULT_PLUGINS: './strict' })
  t.equal(json.code, 2)
  t.match(JSON.parse(json.text), {
    plugins: [],
    issues: [{ location: /"strict"/, message: /required/, fix: String }],
  })
  t.match(right, { code: 0, text: /^strict 1\.0\.0 {2}plugin list › "\.\/strict"$/m })
})

t.test('a check lists a key provider, and reports an invalid one', async (t) => {
  const source = (name: string) =>
    `export const plugin = { api: 1, name: '${name}', version: '1.0.0', setup: () => ({}) }\n`
  const folder = t.testdir({
    'package.json': '{"type":"module"}',
    'no-kms': {
      'index.js': source('no-kms'),
      'key-provider.js': 'export const keyProvider = { scheme: "no kms" }\n',
    },
    kms: {
      'index.js': source('kms'),
      'key-provider.js':
        'export const keyProvider = { scheme: "kms", config: { type: "objekt" }, wrap() {}, unwrap() {} }\n',
    },
  })
  const [transit, none, kms] = await Promise.all(
    ['transit', './no-kms', './kms'].map((plugin) => command(folder, ['plugins', 'check', plugin])),
  )
  t.match(kms, { code: 2, text: /plugin "kms" › key-provider › config: the schema does not compile/ })
  const list = await command(folder, ['plugins', 'list'], {
    SIDEVAULT_PLUGIN_CONFIG: '{"transit:":{"a":1},"kms:":{}}',
  })
  t.match(list, { code: 2, text: /"transit:": the key provider takes no configuration, and some is given/ })
  t.match(list.text, /"kms:": there is no key provider of this scheme\. Add its plugin to the list/)
  t.match(transit, { code: 0, text: /^ {2}root key {4}transit:…$/m })
  t.match(none, {
    code: 2,
    text: /plugin "no-kms" › key-provider: its module exports no key provider\. Export it/,
  })
})
