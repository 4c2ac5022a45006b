import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { CHILD_DATA_KB } from '../limits.ts'
import type { Confinement } from './confinement.ts'
import { modulesFolder } from './modules-folder.ts'

const BOOT = readFileSync(new URL('../child/boot.js', import.meta.url), 'utf8')
const FD = 3

/** First target of the OOM killer; no core file, which would contain card data; no file writes. */
const SHELL = [
  'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
  `ulimit -d ${CHILD_DATA_KB}`,
  'ulimit -c 0',
  'ulimit -f 0',
  'exec "$@"',
].join('; ')

/** Features of V8 beyond Node 16, which make a quarter of the cost of a context. */
const NEWER = [
  'explicit-resource-management',
  'float16array',
  'promise-try',
  'error-iserror',
  'regexp-escape',
  'atomics-pause',
  'source-phase-imports',
].map((name) => `--no-js-${name}`)

const FLAGS = [
  '--no-node-snapshot',
  '--jitless',
  ...NEWER,
  // removed from contexts anyway; this way it is not created at all
  '--enable-sharedarraybuffer-per-context',
  // the snapshot is made in this process, so its hash seed is already random
  '--no-rehash-snapshot',
  '--no-verify-snapshot-checksum',
  '--permission',
  '--allow-addons',
  `--allow-fs-read=${modulesFolder()}`,
  '--allow-fs-read=/etc/alpine-release', // read when the addon is loaded
  '--disable-warning=SecurityWarning',
  '--title=sidevault: sandbox',
  '--input-type=module',
  '--eval',
  BOOT,
]

export interface Spawned {
  readonly process: ChildProcess
  readonly stream: Duplex
}

/**
 * Spawns a child without standard streams and with an empty environment. `start`: first text of the stream (boot.js).
 * Throws when the system has no process or descriptor left.
 */
export const spawnChild = ({ wrapper }: Pick<Confinement, 'wrapper'>, start: string): Spawned => {
  const [command, ...rest] = [...wrapper, process.execPath, ...FLAGS] as [string, ...string[]]
  const child = spawn('/bin/sh', ['-c', SHELL, 'sh', command, ...rest], {
    cwd: '/',
    env: { TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    detached: true, // Ctrl-C must not reach it
  })
  child.on('error', () => {}) // also without a listener of the caller
  const stream = child.stdio?.[FD] as Duplex | undefined
  if (stream === undefined) throw new Error('no file descriptor is left for a child process')
  const text = Buffer.from(start)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  stream.write(Buffer.concat([length, text]))
  return { process: child, stream }
}
