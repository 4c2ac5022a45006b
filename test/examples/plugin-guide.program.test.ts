import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sidevault } from '../commands/run.ts'
import { root } from '../kit/sources.ts'

const README = readFileSync(join(root, 'docs/guides/plugins.md'), 'utf8')

const blocks = (language: string) =>
  [...README.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text)

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

  mkdirSync(join(folder, 'cards-only-to'))
  writeFileSync(join(folder, 'cards-only-to/index.ts'), check)
  t.match(await run('check', './cards-only-to'), /check {7}cards-only-to \(request\), fails closed/)
  for (const [kind, name, text] of [
    ['consumer', 'audit-lines', consumer],
    ['job', 'usage-report', job],
  ] as const) {
    t.ok(README.includes(`plugins new --kind ${kind} ../${name}`))
    await run('new', '--kind', kind, `./${name}`)
    t.equal(readFileSync(join(folder, name, 'index.ts'), 'utf8'), text, 'the guide shows what it writes')
  }
})
