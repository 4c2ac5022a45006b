import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadRegistry } from '../../src/commands/operations.ts'
import { root, sourcesIn } from '../kit/sources.ts'
import { declaredMetrics } from './reference/metrics.ts'
import { pages } from './reference/pages.ts'

const folder = join(root, 'docs/reference')

t.test('docs/reference/ is what the code says', async (t) => {
  for (const { name, text } of pages)
    t.equal(readFileSync(join(folder, `${name}.md`), 'utf8'), await text(), `${name}.md: run "npm run docs"`)
  t.same(readdirSync(folder).sort(), pages.map(({ name }) => `${name}.md`).sort(), 'no other page')
})

t.test('the reference of metrics has every metric', async (t) => {
  const named = sourcesIn('src').flatMap(({ text }) =>
    [
      ...text.matchAll(
        /'(sidevault_[a-z_]*_(?:total|seconds|bytes|up|active|files|broken|journals|version|taken|children))'/g,
      ),
    ].map(([, name = '']) => name),
  )
  const known = declaredMetrics().map(({ name }) => name)
  t.ok(known.length > 20)
  t.same(
    [...new Set(named)].filter((name) => !known.includes(name)),
    [],
  )
  t.equal(new Set(known).size, known.length, 'each once')
})

t.test('the smallest plugin of the guide is a plugin', async (t) => {
  const guide = readFileSync(join(root, 'docs/guides/own-token-type.md'), 'utf8')
  const path = join(t.testdir(), 'loyalty.json')
  writeFileSync(path, /```json\n([\s\S]*?)```/.exec(guide)?.[1] ?? '')
  const { tokenTypes } = await loadRegistry({ plugins: ['*', path], pluginBases: [root], pluginConfig: {} })
  t.ok(tokenTypes.has('loyalty_card'))
})
