import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { CHILD_DATA_KB } from '../limits.ts'
import type { Confinement } from './confinement.ts'
import { modulesFolder } from './sources.ts'

const BOOT = readFileSync(new URL('../child/boot.js', import.meta.url), 'utf8')
const FD = 3

/** A core file would hold card data; no file may be written; the child is the first to go when memory is short. */
const SHELL = [
  'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
  `ulimit -d ${CHILD_DATA_KB}`,
  'ulimit -c 0',
  'ulimit -f 0',
  'exec "$@"',
].join('; ')

/** What V8 puts into each new context beyond Node 16, which costs a quarter of making one. */
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
  // it is not there for code, so that a context need not be given it first
  '--enable-sharedarraybuffer-per-context',
  // the seed of hashes is this process's own: the snapshot is made in it
  '--no-rehash-snapshot',
  '--no-verify-snapshot-checksum',
  '--permission',
  '--allow-addons',
  `--allow-fs-read=${modulesFolder()}`,
  '--allow-fs-read=/etc/alpine-release', // asked for when the addon is loaded
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
 * Starts a child; `start` is what boot.js reads first. It has no standard streams and an empty environment. Throws when the
 * system gives no process or no handle for one.
 */
export const spawnChild = ({ wrapper }: Pick<Confinement, 'wrapper'>, start: string): Spawned => {
  const [command, ...rest] = [...wrapper, process.execPath, ...FLAGS] as [string, ...string[]]
  const child = spawn('/bin/sh', ['-c', SHELL, 'sh', command, ...rest], {
    cwd: '/',
    env: { TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    detached: true, // Ctrl-C is for the service
  })
  child.on('error', () => {}) // also when nobody gets to hear of this child
  const stream = child.stdio?.[FD] as Duplex | undefined
  if (stream === undefined) throw new Error('there is no handle left for a process')
  const text = Buffer.from(start)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  stream.write(Buffer.concat([length, text]))
  return { process: child, stream }
}
