import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command } from './in-process.ts'
import { sidevault } from './run.ts'

/** What each kind writes, and what the plugin list then holds. */
const KINDS = [
  {
    kind: '--folder',
    path: 'gym-card',
    files: ['index.test.ts', 'index.ts', 'package.json'],
    source: './gym-card',
  },
  {
    kind: '--json',
    path: 'json/gym-card',
    files: ['gym-card.json', 'gym-card.test.mjs'],
    source: './json/gym-card/gym-card.json',
  },
  {
    kind: '--npm',
    path: 'sidevault-plugin-gym-card',
    files: ['index.js', 'index.test.js', 'package.json'],
    source: './sidevault-plugin-gym-card',
  },
] as const

t.test('new plugins of each kind pass their checks and their tests as they are', async (t) => {
  const folder = t.testdir()
  for (const { kind, path, files, source } of KINDS) {
    const created = await command(folder, ['plugins', 'new', path, kind])
    t.match(created, { code: 0, text: new RegExp(`wrote \\./${path}/${files[0]}`) }, kind)
    t.same(readdirSync(join(folder, path)).sort(), files)
    const commands = created.text.split('\n').filter((line) => line.includes('sidevault.js plugins'))
    t.equal(commands.length, 2, 'it says how to go on')
    t.ok(commands[0]?.endsWith(` plugins check ${source}`), created.text)
    const checked =
      /^gym-card 0\.1\.0 .*\n {2}token type {2}gym_card \(Gym card\), \/gym-card\/high\/\nNo issues\.\n$/
    t.match(await command(folder, ['plugins', 'check', source]), { code: 0, text: checked }, kind)
  }
  const tested = await sidevault(folder, ['plugins', 'test', '.'])
  t.equal(tested.code, 0, tested.text)
  t.match(tested.text, /pass 6\n/, 'two of each')
})

t.test(
  'new consumers, jobs, checks and webhook types pass their checks and their tests as they are',
  async (t) => {
    const folder = t.testdir()
    for (const [kind, line] of [
      ['consumer', 'consumer    lines, from now'],
      ['job', 'job         report, every 86400 s'],
      ['check', 'check       a-check-FORM \\(request\\), fails closed'],
      [
        'webhook-type',
        'operation   POST /a-webhook-type-FORM \\(AWebhookType\\w+\\.Create\\), \\S+:create\\n  permission  \\S+:create',
      ],
    ] as const)
      for (const form of ['--folder', '--npm']) {
        const name = `a-${kind}-${form.slice(2)}`
        t.match(await command(folder, ['plugins', 'new', name, form, '--kind', kind]), { code: 0 })
        const checked = await command(folder, ['plugins', 'check', `./${name}`])
        t.match(
          checked,
          {
            code: 0,
            text: new RegExp(`^${name} .*\\n  ${line.replace('FORM', form.slice(2))}\\nNo issues\\.`),
          },
          checked.text,
        )
      }
    const tested = await sidevault(folder, ['plugins', 'test', '.'])
    t.match(tested.text, /pass 10\n/, tested.text)
    t.match(await command(folder, ['plugins', 'new', 'b', '--json', '--kind', 'job']), {
      code: 2,
      text: /A JSON file cannot hold a job\. Use --folder or --npm/,
    })
  },
)

t.test('a failing test makes the command fail', async (t) => {
  const folder = t.testdir({
    'package.json': '{"type":"module"}',
    'a.test.js': "import { test } from 'node:test'\ntest('no', () => { throw new Error('no') })\n",
  })
  t.equal((await sidevault(folder, ['plugins', 'test', '.'])).code, 1)
})

t.test('existing files are not overwritten, and invalid names are reported', async (t) => {
  const folder = t.testdir({ existing: { 'index.ts': 'mine' } })
  t.match(await command(folder, ['plugins', 'new', 'existing']), {
    code: 2,
    text: /exists and is not empty/,
  })
  t.equal(readFileSync(join(folder, 'existing/index.ts'), 'utf8'), 'mine')
  t.match(await command(folder, ['plugins', 'new', 'Gym_Card']), {
    code: 2,
    text: /"Gym_Card" cannot be the name of a plugin\. Use lower-case letters/,
  })
  t.match(await command(folder, ['plugins', 'new', 'a', '--json', '--npm']), { code: 2 })
  t.same(readdirSync(folder), ['existing'])
})

t.test('the list equals SIDEVAULT_PLUGINS; a check accepts built-in plugins by name', async (t) => {
  const folder = t.testdir()
  const list = await command(folder, ['plugins', 'list'])
  t.equal(list.code, 0, list.text)
  for (const line of [
    /^card \d+\.\d+\.\d+ {2}plugins\/card\n {2}token type {2}card \(Card\), \/pci\/high\/$/m,
    /^ {2}operation {3}POST \/tokens \(Tokens\.Create\), token:create$/m,
    /^ {2}permission {2}application:create$/m,
    /^ {2}port {8}credentials$/m,
  ])
    t.match(list.text, line)
  const { plugins, issues } = JSON.parse((await command(folder, ['plugins', 'list', '--json'])).text)
  t.same(issues, [])
  const card = { kind: 'token type', text: 'card (Card), /pci/high/' }
  t.match(
    plugins.find(({ name }: { name: string }) => name === 'card'),
    { place: 'plugins/card', contributes: [card] },
  )
  t.match(await command(folder, ['plugins', 'check', 'card']), {
    code: 0,
    text: /^card .*\n.*\nNo issues\.\n$/,
  })
  t.match(await command(folder, ['plugins', 'check', 'no-such-plugin']), {
    code: 2,
    text: /there is no folder and no npm package of this name, looked for from .*Install the package there/,
  })
})
