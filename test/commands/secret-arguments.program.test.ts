import t from 'tap'
import { command } from './in-process.ts'

t.test('secrets on the command line are rejected', async (t) => {
  const cwd = t.testdir()
  const run = (...args: string[]) => command(cwd, args, { SIDEVAULT_DATA_DIR: cwd })
  const rejected = await run('keys', 'rotate-root', '--to', 'passphrase:correct horse battery')
  t.match(rejected, { code: 2, text: /--to passphrase:env:<NAME>/ })
  t.notMatch(rejected.text, /horse/)
  t.match(await run('migrate-store', '--to', 'env:NONE'), { code: 2, text: /"NONE" of --to is not set/ })
  const warned = await run('migrate-store', '--to', 'postgres://user:battery@localhost/vault')
  t.match(warned, { code: 1, text: /^warning: .*a password on the command line(?:.*\n)*.*no database in/m })
  t.notMatch(warned.text, /battery/)
})
