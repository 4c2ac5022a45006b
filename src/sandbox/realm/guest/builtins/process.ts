/** `process`: a minimal Node 16. */
import { print } from '../console-buffer.ts'
import { queueMicrotask } from '../timers.ts'

const EventEmitter: typeof import('node:events').EventEmitter = require('node:events')

const stream = (level: 'log' | 'error') => ({
  isTTY: false,
  write: (text: unknown): boolean => {
    print(level, String(text).replace(/\n$/, ''))
    return true
  },
})

const hrtime = (since: readonly [number, number] = [0, 0]): [number, number] => {
  const elapsed = Date.now() * 1e6 - (since[0] * 1e9 + since[1])
  return [Math.floor(elapsed / 1e9), elapsed % 1e9]
}
hrtime.bigint = (): bigint => BigInt(Date.now()) * 1_000_000n

export const builtin = Object.assign(new EventEmitter(), {
  title: 'node',
  version: 'v16.20.2',
  versions: { node: '16.20.2' },
  release: { name: 'node' },
  platform: 'linux',
  arch: 'x64',
  pid: 1,
  ppid: 0,
  argv: ['node'],
  execArgv: [],
  execPath: 'node',
  env: {},
  exitCode: undefined,
  stdout: stream('log'),
  stderr: stream('error'),
  cwd: () => '/code',
  uptime: () => 0,
  hrtime,
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  nextTick: (callback: (...args: unknown[]) => unknown, ...args: unknown[]) => {
    if (typeof callback !== 'function')
      throw new TypeError('The "callback" argument must be of type function.')
    queueMicrotask(() => callback(...args))
  },
  emitWarning: (warning: unknown) => print('warn', `Warning: ${warning}`),
  exit: () => {
    throw new Error('process.exit() is not available. Return or throw instead.')
  },
})
