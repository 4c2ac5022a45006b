import { spawnSync } from 'node:child_process'
import t from 'tap'

const run = (code: string) =>
  spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', cwd: process.cwd() })

t.test('an error is logged with its type and frames but without its message', async (t) => {
  const { stderr } = run(`
    import { createLog } from './src/common/log.ts'
    const cause = Object.assign(new Error('inner 4242424242424242'), { code: 'SQLITE_FULL' })
    createLog('test').error({ err: new Error('outer 4242424242424242', { cause }) }, 'failed')
  `)
  const line = JSON.parse(stderr)
  t.equal(line.level, 'error')
  t.equal(line.process, 'test')
  t.equal(line.err.cause.code, 'SQLITE_FULL')
  t.match(line.err.stack, /^ {4}at /)
  t.notMatch(stderr, '4242')
})
