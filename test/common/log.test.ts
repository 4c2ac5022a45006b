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
  t.notMatch(stderr, '42424242')
})

t.test('the error of a file is logged with its path', async (t) => {
  const { stderr } = run(`
    import { openSync } from 'node:fs'
    import { createLog } from './src/common/log.ts'
    try {
      openSync('/no/such/file')
    } catch (err) {
      createLog('test').error({ err }, 'failed')
    }
  `)
  t.match(JSON.parse(stderr).err, { code: 'ENOENT', path: '/no/such/file' })
})

t.test('lines are written in batches, in order, also when a process exits or is killed', async (t) => {
  const lines = (end: string) =>
    run(`
      import { createLog } from './src/common/log.ts'
      const log = createLog('test')
      const other = createLog('other')
      log.info({ n: 1 }, 'one')
      other.info({ n: 2 }, 'two')
      log.child({ trace_id: 'x' }).warn({ n: 3 }, 'three')
      ${end}
    `)
      .stderr.trim()
      .split('\n')
      .map((line) => JSON.parse(line).n)
  t.same(lines("process.kill(process.pid, 'SIGKILL')"), [1, 2, 3])
  t.same(lines('log.info({ n: 4 }); process.exit(1)'), [1, 2, 3, 4])
  t.same(lines('log.info({ n: 4 })'), [1, 2, 3, 4])
})
