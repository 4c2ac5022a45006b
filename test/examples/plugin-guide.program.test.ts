import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { sidevault } from '../commands/run.ts'
import { root } from '../kit/sources.ts'

const README = readFileSync(join(root, 'docs/guides/plugins.md'), 'utf8')

const blocks = (language: string) =>
  [...README.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text)

/** Its check denies, labels and passes as the guide says. */
const CHECK_TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plugin } from './index.ts'

test('cards go to one host', async () => {
  const { checks } = await plugin.setup({ config: { host: 'api.example.com' } })
  const verdict = (container, host) =>
    checks[0].handle({ tokens: [{ id: 'a', container }], destination: { scheme: 'https', host, port: 443 } })
  assert.deepEqual(await verdict('/pci/high/', 'api.example.com'), { labels: { cards: 'yes' } })
  assert.equal((await verdict('/pci/high/', 'other.example.com')).deny.code, 'wrong_host')
  assert.equal(await verdict('/pii/', 'other.example.com'), undefined)
})
`

const PORT_TEST = `import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { startTestVault } from 'sidevault/testing'

process.chdir(import.meta.dirname)

test('its job calls the provider', async () => {
  const vault = await startTestVault({ plugins: ['*', resolve('.'), resolve('../print-pager')] })
  await vault.runTasks()
  await vault.close()
  assert.equal(readFileSync('pages.txt', 'utf8'), 'This is a drill.\\n')
})
`

t.test('"A plugin in twenty minutes" works as written', async (t) => {
  const folder = t.testdir()
  const [commands = ''] = blocks('sh')
  t.match(commands, /^node bin\/sidevault\.js plugins new \.\.\/member-card$/m)
  const plugin = join(folder, 'member-card')
  const run = async (...args: string[]) => {
    const { code, text } = await sidevault(folder, ['plugins', ...args])
    t.equal(code, 0, text)
    return text
  }
  await run('new', './member-card')
  await run('check', './member-card')

  const [
    rules = '',
    visits = '',
    end = '',
    test = '',
    consumer = '',
    job = '',
    provider = '',
    check = '',
    webhookType = '',
    alarms = '',
    pager = '',
    ...more
  ] = blocks('ts')
  t.same(more, [], 'every block is used here')
  writeFileSync(join(plugin, 'index.ts'), rules)
  t.match(await run('check', './member-card'), /filter {6}club_of/)

  const [imports, declaration] = end.split('\n\n', 2)
  const retained = rules.slice(0, rules.indexOf('export const plugin'))
  writeFileSync(join(plugin, 'index.ts'), `${imports}\n${retained}${declaration}`)
  writeFileSync(join(plugin, 'visits.ts'), visits)
  writeFileSync(join(plugin, 'visits.test.ts'), test)
  writeFileSync(join(plugin, 'key-provider.ts'), provider)
  const all = await run('check', './member-card')
  t.match(all, /operation {3}POST \/member-card-visits/)
  t.match(all, /root key {4}acme-kms:…/)
  t.match(await run('test', './member-card'), /pass 3\n/)

  const write = (files: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
  }
  write({ 'cards-only-to/index.ts': check, 'cards-only-to/index.test.ts': CHECK_TEST })
  t.match(await run('check', './cards-only-to'), /check {7}cards-only-to \(request\), fails closed/)
  t.match(await run('test', './cards-only-to'), /pass 1\n/)
  write({ 'alarms/index.ts': alarms, 'print-pager/index.ts': pager, 'alarms/index.test.ts': PORT_TEST })
  t.match(await run('check', './alarms', './print-pager'), /open port {3}alarms\/pager/)
  t.match(await run('test', './alarms'), /pass 1\n/)
  for (const [kind, name, text] of [
    ['consumer', 'audit-lines', consumer],
    ['job', 'usage-report', job],
    ['webhook-type', 'fire-alarm', webhookType],
  ] as const) {
    t.ok(README.includes(`plugins new --kind ${kind} ../${name}`))
    await run('new', '--kind', kind, `./${name}`)
    t.equal(readFileSync(join(folder, name, 'index.ts'), 'utf8'), text, 'the guide shows what it writes')
  }
})
