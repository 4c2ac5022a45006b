import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import t, { type Test } from 'tap'

/** A process that logs `count` lines, says so on standard output, and goes on until its standard input ends. */
const logging = (t: Test, count: number, stderr: 'pipe' | number) => {
  const code = `
    import { createLog } from './src/common/log.ts'
    const log = createLog('test')
    for (let n = 0; n < ${count}; n++) {
      log.info({ n }, 'x'.repeat(100))
      if (n % 1000 === 0) await new Promise(setImmediate)
    }
    process.stdout.write('done')
    process.stdin.resume()
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['pipe', 'pipe', stderr],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return {
    child,
    logged: once(child.stdout as Readable, 'data'),
    end: () => child.stdin?.end(),
    ended: once(child, 'exit'),
  }
}

/** Node's own pipes are sockets; shells make pipes. */
const onSocket = (t: Test, count: number) => {
  const process = logging(t, count, 'pipe')
  return { ...process, stderr: process.child.stderr as Readable }
}
const onPipe = (t: Test, count: number) => {
  const path = join(t.testdir(), 'pipe')
  execFileSync('mkfifo', [path])
  const stderr = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) })
  const fd = openSync(path, constants.O_WRONLY)
  const process = logging(t, count, fd)
  closeSync(fd)
  return { ...process, stderr }
}

for (const [name, start] of Object.entries({ onSocket, onPipe })) {
  t.test(`${name}: writers never wait for a slow reader: excess lines are dropped and counted`, async (t) => {
    const count = 20_000
    const { logged, stderr, end } = start(t, count)
    await logged
    let seen = ''
    for await (const chunk of stderr.setEncoding('utf8')) {
      seen += chunk
      if (seen.includes('"dropped"')) end()
    }
    const lines = seen
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const numbers = lines.flatMap(({ n }) => (n === undefined ? [] : [n]))
    const lost = lines.reduce((sum, line) => sum + (line.dropped ?? 0), 0)
    t.equal(numbers.length + lost, count, 'whole lines, and none is missing without a word')
    t.same(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  })

  t.test(
    `${name}: a process exits while nothing reads, and continues when the reader disconnects`,
    async (t) => {
      const unread = start(t, 5_000)
      await unread.logged
      unread.end()
      t.same(await unread.ended, [0, null])
      unread.stderr.destroy()

      const left = start(t, 5_000)
      left.stderr.destroy()
      await left.logged
      left.end()
      t.same(await left.ended, [0, null])
    },
  )
}
