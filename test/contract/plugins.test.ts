import { readdirSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import type { Plugin } from '#sdk'
import { contributionOf, pluginContract } from './plugin-contract.ts'
import { examples } from './plugin-examples.ts'

const root = fileURLToPath(new URL('../../plugins/', import.meta.url))
const names = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)

const plugins: { folder: string; plugin: Plugin }[] = []
for (const name of names) {
  const folder = `${root}${name}`
  const loaded: { plugin: Plugin } = await import(pathToFileURL(`${folder}/index.ts`).href)
  plugins.push({ folder, plugin: loaded.plugin })
}
const contributions = await Promise.all(plugins.map(({ plugin }) => contributionOf(plugin)))
const permissions = new Set(
  contributions.flatMap((contribution) => (contribution.permissions ?? []).map(({ type }) => type)),
)

t.ok(plugins.length >= 8, 'the plugins of this repository are found')
t.same(
  plugins.map(({ plugin }) => plugin.name),
  names,
  'a plugin is named as its folder',
)

for (const { folder, plugin } of plugins) pluginContract(t, { folder, plugin, permissions, examples })
