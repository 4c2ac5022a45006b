import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadRegistry } from '../../src/commands/operations.ts'
import { settingNames, variableOf } from '../../src/config/schema.ts'
import { fileVariableOf, secretNames } from '../../src/config/variables.ts'
import { createProgram } from '../../src/main.ts'
import { root, sourcesIn } from '../kit/sources.ts'
import { draw } from './drawings/draw.ts'
import { drawings, parseDrawing } from './drawings/drawings.ts'
import { UNDECLARED } from './reference/audit-format.ts'
import { declaredMetrics } from './reference/metrics.ts'
import { pages } from './reference/pages.ts'

const folder = join(root, 'docs/reference')

t.test('docs/reference/ is what the code says', async (t) => {
  for (const { name, text } of pages)
    t.equal(readFileSync(join(folder, `${name}.md`), 'utf8'), await text(), `${name}.md: run "npm run docs"`)
  t.same(readdirSync(folder).sort(), pages.map(({ name }) => `${name}.md`).sort(), 'no other page')
})

t.test('drawings match their sources', async (t) => {
  for (const { path, text } of drawings)
    t.equal(readFileSync(join(root, path), 'utf8'), text(), `${path}: run "npm run docs"`)
  t.throws(() => draw(parseDrawing('x', 'a | A | | ours\na -> b')), /no node/)
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

t.test('the audit format names every record that no operation declares', async (t) => {
  const written = sourcesIn('src', 'plugins').flatMap(({ path, text }) => {
    const events = text.matchAll(/\{\s*entity: '(\w+)',\s*id\b/g)
    const commands = path.startsWith('src/maintenance/')
      ? text.matchAll(/\brecord\(\s*[\w']+,\s*'(\w+)'/g)
      : []
    return [...new Set([...events, ...commands].map(([, entity]) => `${path}: ${entity}`))]
  })
  t.same(UNDECLARED.map(({ path, entity }) => `${path}: ${entity}`).sort(), written.sort())
  for (const { path, operations } of UNDECLARED) {
    const text = readFileSync(join(root, path), 'utf8')
    // Commands of operators record updates (src/maintenance/open-vault.ts).
    if (!path.startsWith('src/maintenance/'))
      for (const operation of operations) t.match(text, `'${operation}'`, `${path} writes ${operation}`)
  }
})

t.test('the smallest plugin of the guide is a plugin', async (t) => {
  const guide = readFileSync(join(root, 'docs/guides/own-token-type.md'), 'utf8')
  const path = join(t.testdir(), 'loyalty.json')
  writeFileSync(path, /```json\n([\s\S]*?)```/.exec(guide)?.[1] ?? '')
  const { tokenTypes } = await loadRegistry({ plugins: ['*', path], pluginBases: [root], pluginConfig: {} })
  t.ok(tokenTypes.has('loyalty_card'))
})

/** Variables of readers' shells, and those that are no settings. */
const OTHER_VARIABLES =
  /^SIDEVAULT_(CONFIG|KEY|URL|API_URL|EXPORT_PASSPHRASE(_FILE)?|DATABASE_PASSWORD|TEST_\w+|)$/

t.test('settings, metrics and commands that documents name exist', async (t) => {
  const documents = [
    '*.md',
    'docs/**/*.md',
    'src/**/*.md',
    'plugins/**/*.md',
    'envoy/*.md',
    'examples/**/*.{md,yaml}',
  ]
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .concat('docker-compose.yml')
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  const all = (pattern: RegExp) =>
    documents.flatMap(({ path, text }) =>
      [...text.matchAll(pattern)].map(([, name = '']) => ({ name, path })),
    )
  const settings = new Set<string>([...settingNames.map(variableOf), ...secretNames.map(fileVariableOf)])
  const metrics = declaredMetrics().map(({ name }) => name)
  const program = createProgram()
  const commands = program.commands.flatMap((each) => [
    each.name(),
    ...each.commands.map((below) => `${each.name()} ${below.name()}`),
  ])
  const unknown = [
    ...all(/\b(SIDEVAULT_[A-Z_]*)(?!…|[A-Z_])/g).filter(
      ({ name }) =>
        !settings.has(name) &&
        !OTHER_VARIABLES.test(name) &&
        ![...settings].some((each) => name.endsWith('_') && each.startsWith(name)),
    ),
    ...all(/`(sidevault_[a-z_]+)[`{]/g).filter(
      ({ name }) => !metrics.includes(name) && !/^sidevault_(nodejs|process)_/.test(name),
    ),
    ...all(/`sidevault ((?:audit|keys|plugins|tenants|config|transform) [a-z-]+|[a-z-]+)/g).filter(
      ({ name }) => !commands.includes(name),
    ),
  ]
  t.same(unknown, [])
})
