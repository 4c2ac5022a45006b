/** Two npm packages of different authors: one opens a port, the other provides it. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sidevault } from '../commands/run.ts'
import { startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { installPackage } from './project.ts'

const packageOf = (name: string) =>
  JSON.stringify({ name, version: '1.0.0', type: 'module', exports: './index.js' })

const ALARMS = {
  'package.json': packageOf('sidevault-plugin-alarms'),
  'index.d.ts': `export interface Pager {
  readonly channel: string
  page(text: string): Promise<void>
}
declare module 'sidevault/sdk' {
  interface Ports {
    readonly 'alarms/pager': Pager
  }
}
`,
  'index.js': `import { AppError, definePlugin, defineOperation, Type } from 'sidevault/sdk'
export const plugin = definePlugin({ api: 1, name: 'alarms', version: '1.0.0', setup: (context) => ({
  openPorts: [{ name: 'pager', functions: ['page'], schema: Type.Object({ channel: Type.String({ pattern: '^#' }) }) }],
  operations: [defineOperation({
    rpc: 'Alarms.Create', http: 'POST /alarms', summary: 'Raise an alarm', permission: 'any key', audit: 'none',
    input: Type.Object({ text: Type.String({ field: 1 }) }),
    output: Type.Object({ channel: Type.String({ field: 1 }) }),
    run: async ({ text }) => {
      const pager = context.port('alarms/pager')
      if (pager === undefined) throw new AppError('unprocessable', 'No plugin provides a pager. Install one.')
      await pager.page(text)
      return { channel: pager.channel }
    },
  })],
}) })
`,
}

const pager = (provided: string) => ({
  'package.json': packageOf('sidevault-plugin-pager'),
  'index.js': `import { appendFile } from 'node:fs/promises'
import { definePlugin } from 'sidevault/sdk'
export const plugin = definePlugin({ api: 1, name: 'pager', version: '1.0.0',
  setup: () => ({ ports: { 'alarms/pager': ${provided} } }) })
`,
})

t.test('a port that one package opens is provided by another', async (t) => {
  const folder = t.testdir({
    'package.json': '{"private":true,"type":"module"}',
    alarms: ALARMS,
    pager: pager(
      `{ channel: '#ops', page: (text) => appendFile(new URL('../../paged', import.meta.url), text) }`,
    ),
  })
  for (const name of ['alarms', 'pager']) installPackage(folder, join(folder, name))
  const start = (plugins: string) => startSidevault({ cwd: folder, env: { SIDEVAULT_PLUGINS: plugins } })
  const raise = (vault: Awaited<ReturnType<typeof start>>) =>
    vault.call('POST', '/alarms', { key: vault.managementKey, body: { text: 'fire' } })

  const vault = await start('*,sidevault-plugin-pager,sidevault-plugin-alarms')
  t.teardown(() => vault.stop())
  t.match(await raise(vault), { status: 200, json: { channel: '#ops' } })
  t.equal(readFileSync(join(folder, 'paged'), 'utf8'), 'fire')

  await t.test('its types come with the package that opens it', async (t) => {
    const write = (name: string, channel: string) => {
      const file = join(folder, name)
      const imports = `import type {} from 'sidevault-plugin-alarms'\nimport { definePlugin } from 'sidevault/sdk'\n`
      const ports = `{ 'alarms/pager': { channel: ${channel}, page: async () => {} } }`
      const setup = `setup: ({ port }) => { port('alarms/pager')?.page('fire'); return { ports: ${ports} } }`
      writeFileSync(
        file,
        `${imports}export const plugin = definePlugin({ api: 1, name: 'x', version: '1.0.0', ${setup} })\n`,
      )
      return file
    }
    const files = [write('right.ts', `'#ops'`), write('wrong.ts', '7')]
    const compilerOptions = {
      incremental: false,
      paths: { 'sidevault/sdk': [join(root, 'src/sdk/index.ts')] },
      typeRoots: [join(root, 'node_modules/@types')],
    }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: join(root, 'tsconfig.json'),
        files,
        include: [],
        exclude: [],
        compilerOptions,
      }),
    )
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
    t.same(stdout.match(/\w+\.ts(?=\()/g), ['wrong.ts'], stdout)
    t.match(stdout, /'ports\['alarms\/pager'\]\.channel'/)
  })
})

t.test('a provider that does not match, or matches nothing, is reported by a check', async (t) => {
  const folder = t.testdir({ alarms: ALARMS, pager: pager(`{ channel: 'ops' }`) })
  const both = await sidevault(folder, ['plugins', 'check', './alarms', './pager'])
  t.equal(both.code, 2)
  t.match(both.text, /open port {3}alarms\/pager/)
  t.match(both.text, /plugin "pager" › port "alarms\/pager": it lacks the function "page"\. Add it/)
  t.match(both.text, /plugin "pager" › port "alarms\/pager": "channel" must match/)
  const alone = await sidevault(folder, ['plugins', 'check', './pager'])
  t.match(
    alone.text,
    /port "alarms\/pager": there is no such port\. Correct the name, or install the plugin that opens it/,
  )
})
