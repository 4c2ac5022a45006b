import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { killQuietly } from '../../src/common/kill.ts'
import { freePort } from './sidevault.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const { ensureRedis }: { ensureRedis(root: string): Promise<string> } = await import(
  new URL('../../bin/bootstrap/redis.js', import.meta.url).href
)

export interface TestRedis {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>
  /** The same server again, at the same port, with nothing in it. */
  start(): Promise<void>
  /** It takes connections and says nothing. */
  freeze(): void
  thaw(): void
}

/** Why there is no Redis for tests; undefined: there is. For `{ skip: await noRedis() }`. */
export const noRedis = async (): Promise<string | false> => {
  try {
    await ensureRedis(root)
    return false
  } catch (error) {
    return `no Redis server for tests: ${(error as Error).message.split('\n')[0]}`
  }
}

/** The server ends with our end of its standard input: none is left behind when a test is killed. */
const GUARD = '"$@" <&- >&- & server=$!; echo $server; read -r _; kill -KILL $server'

const responses = (port: number, words: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(words))
    socket.once('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })

/** A real server (bin/bootstrap/redis.js) that keeps nothing on disk, until the test ends. */
export const startRedis = async (
  t: Test,
  options: { readonly port?: number; readonly password?: string; readonly args?: readonly string[] } = {},
): Promise<TestRedis> => {
  const binary = await ensureRedis(root)
  const port = options.port ?? (await freePort())
  const { password } = options
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  let child: ChildProcess
  let pid = 0

  const start = async () => {
    child = spawn(
      '/bin/sh',
      [
        ...['-c', GUARD, 'sh', binary, ...args],
        ...(password === undefined ? [] : ['--requirepass', password]),
        ...(options.args ?? []),
      ],
      { stdio: ['pipe', 'pipe', 'ignore'], cwd: '/' },
    )
    const [line] = await once(child.stdout!, 'data')
    pid = Number(line)
    while (!(await responses(port, 'PING\r\n'))) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    killQuietly(pid)
    child.stdin?.end()
    await gone
  }
  t.teardown(kill)
  await start()
  return {
    url: `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    port,
    get pid() {
      return pid
    },
    kill,
    start,
    freeze: () => void process.kill(pid, 'SIGSTOP'),
    thaw: () => void process.kill(pid, 'SIGCONT'),
  }
}
