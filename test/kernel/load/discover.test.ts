import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { Issue } from '../../../src/kernel/check/issues.ts'
import { discover } from '../../../src/kernel/load/discover.ts'
import type { Plugin } from '../../../src/sdk/index.ts'
import { pluginOf } from '../kit.ts'

const source = (name: string) =>
  `export const plugin = { api: 1, name: '${name}', version: '1.0.0', setup: () => ({}) }\n`

const loyalty = {
  api: 1,
  name: 'loyalty',
  version: '1.0.0',
  tokenTypes: [
    {
      name: 'loyalty_card',
      title: 'Loyalty card',
      data: {
        type: 'object',
        properties: { number: { type: 'string', pattern: '^[0-9]{10,16}$' }, pin: { type: 'string' } },
        required: ['number'],
      },
      checks: [{ check: 'luhn', at: '/number' }],
      writeOnly: ['/pin'],
      container: '/loyalty/high/',
      mask: { number: '{{ data.number | reveal_last: 4 }}' },
      fingerprint: '{{ data.number }}',
      searchIndexes: ['{{ data.number | last4 }}'],
    },
  ],
}

const load = async (t: Test, sources: readonly (string | Plugin)[], files: Record<string, unknown>) => {
  const base = t.testdir(files as never)
  const issues: Issue[] = []
  const candidates = await discover({ sources, bases: [base], pluginsDir: join(base, 'plugins') }, issues)
  return {
    names: candidates.map(({ value }) => (value as Plugin).name),
    values: candidates.map(({ value }) => value as Plugin),
    issues: issues.map(({ location: place, message, fix }) => `${place}: ${message} ${fix}`),
  }
}

t.test('* selects every folder of plugins with an index, in alphabetical order', async (t) => {
  const { names, issues } = await load(t, ['*'], {
    plugins: {
      zebra: { 'index.js': source('zebra') },
      apple: { 'index.ts': source('apple') },
      '.hidden': { 'index.js': source('hidden') },
      'README.md': 'not a folder',
    },
  })
  t.same(issues, [])
  t.same(names, ['apple', 'zebra'])
})

t.test('folders, JSON files, npm names and plugin objects load, each once, in the given order', async (t) => {
  const { names, issues } = await load(
    t,
    [
      './mine/second',
      '*',
      'declared.json',
      'acme-vault-plugin',
      'plugins/first',
      'declared.json',
      pluginOf({}, { name: 'own' }),
    ],
    {
      'package.json': '{"type":"module"}',
      plugins: { first: { 'index.ts': source('first') } },
      mine: { second: { 'index.js': source('second') } },
      'declared.json': JSON.stringify(loyalty),
      node_modules: {
        'acme-vault-plugin': {
          'package.json': '{"name":"acme-vault-plugin","version":"1.0.0","type":"module","main":"index.js"}',
          'index.js': source('acme'),
        },
      },
    },
  )
  t.same(issues, [])
  t.same(names, ['second', 'first', 'loyalty', 'acme', 'own'])
})

t.test('a JSON plugin provides its token types unchanged', async (t) => {
  const { values } = await load(t, ['l.json'], { 'l.json': JSON.stringify(loyalty) })
  const contribution = await values[0]?.setup({} as never)
  t.same(contribution, { tokenTypes: loyalty.tokenTypes })
  t.match(values[0], { api: 1, name: 'loyalty', version: '1.0.0' })
})

t.test('a plugin that cannot be loaded is reported with its place, and the rest is loaded', async (t) => {
  const { names, issues } = await load(
    t,
    ['*', './nowhere', 'no-such-package-of-ours', 'bad.json', 'none.json', 'odd.json', 'list.json'],
    {
      plugins: {
        broken: { 'index.js': 'throw new Error("boom")\n' },
        empty: {},
        fine: { 'index.js': source('fine') },
        nameless: { 'index.js': 'export const other = 1\n' },
      },
      'bad.json': '{',
      'odd.json': JSON.stringify({
        ...loyalty,
        run: 1,
        tokenTypes: [{ ...loyalty.tokenTypes[0], normalize: 'x' }],
      }),
      'list.json': '[]',
    },
  )
  t.same(names, ['fine', 'loyalty'])
  const expected = [
    /^plugins.broken: its module cannot be loaded: boom \(index\.\w+:1\)\./,
    /^plugins.empty: the folder holds neither index\.ts nor index\.js\./,
    /^plugins.nameless: its module exports no "plugin"\. Export it by name/,
    /"\.\/nowhere": there is no such folder/,
    /"no-such-package-of-ours": there is no folder and no npm package of this name/,
    /"bad\.json": the file cannot be read as JSON/,
    /"none\.json": there is no such file, looked for from /,
    /"odd\.json": there is no member "run" in a declarative plugin/,
    /"odd\.json" › tokenTypes\[0\]: there is no member "normalize"/,
    /"list\.json": a declarative plugin is a JSON object/,
  ]
  t.equal(issues.length, expected.length, issues.join('\n'))
  for (const [index, issue] of expected.entries()) t.match(issues[index], issue)
})

const packaged = (name: string, files: Record<string, string>, manifest: object = {}) => ({
  'package.json': JSON.stringify({ name, version: '1.0.0', type: 'module', ...manifest }),
  ...files,
})

t.test('an npm package is found from each base in order, by its import conditions', async (t) => {
  const conditions = { exports: { require: './none.cjs', import: './main.js' } }
  const folder = t.testdir({
    config: {
      node_modules: { acme: packaged('acme', { 'main.js': source('first') }, conditions) },
    },
    project: {
      node_modules: {
        acme: packaged('acme', { 'index.js': source('second') }, { main: 'index.js' }),
        other: packaged('other', { 'index.js': source('other') }, { main: 'index.js' }),
        '@acme': { scoped: packaged('@acme/scoped', { 'index.js': source('scoped') }, { main: 'index.js' }) },
      },
    },
  })
  const issues: Issue[] = []
  const bases = [join(folder, 'config'), join(folder, 'project')]
  const candidates = await discover(
    { sources: ['acme', 'other', '@acme/scoped', '@acme/none'], bases, pluginsDir: folder },
    issues,
  )
  t.same(
    candidates.map(({ value }) => (value as Plugin).name),
    ['first', 'other', 'scoped'],
  )
  t.match(issues, [{ location: 'plugin list › "@acme/none"', message: /no npm package of this name/ }])
  t.equal(issues.length, 1)
})

t.test('a plugin outside of the project imports the running sdk', async (t) => {
  const text =
    "import { AppError, definePlugin, Type } from 'sidevault/sdk'\n" +
    "export const plugin = Object.assign(definePlugin({ api: 1, name: 'a', version: '1.0.0', setup: () => ({}) }), { AppError, Type })\n"
  const { values, issues } = await load(t, ['./outside'], {
    'package.json': '{"type":"module","name":"somebody-else"}',
    outside: { 'index.ts': text },
  })
  t.same(issues, [])
  t.equal((values[0] as unknown as { AppError: unknown }).AppError, AppError)
})

t.test('the fix for a module that does not load depends on the cause', async (t) => {
  const { issues } = await load(t, ['typed', './enum', './packages', './file', './lacking'], {
    'package.json': '{"type":"module","name":"somebody-else"}',
    node_modules: { typed: packaged('typed', { 'index.ts': source('typed') }, { main: 'index.ts' }) },
    enum: { 'index.ts': `enum A { B }\n${source('enum')}` },
    packages: { 'index.ts': `import 'typebox-unknown'\n` },
    file: { 'index.ts': "import './other.ts'\n" },
    lacking: { 'index.ts': "import { nothing } from 'sidevault/sdk'\nexport const plugin = nothing\n" },
  })
  const expected = [
    /Node runs no TypeScript below node_modules: publish JavaScript\./,
    /Use TypeScript whose types can be left out/,
    /Install it in the plugin's own folder with npm\./,
    /Correct the import; relative ones end in \.ts or \.js\./,
    /does not provide an export named 'nothing' \(index\.ts:1\)\. Repair the module/,
  ]
  t.equal(issues.length, expected.length, issues.join('\n'))
  for (const [index, issue] of expected.entries()) t.match(issues[index], issue)
})

t.test('a missing plugins folder and missing token types are issues', async (t) => {
  const { issues } = await load(t, ['*', 'e.json'], {
    'e.json': JSON.stringify({ api: 1, name: 'e', version: '1.0.0', tokenTypes: [] }),
  })
  t.match(issues, [/the folder of plugins does not exist/, /"tokenTypes" is missing or empty/])
})
