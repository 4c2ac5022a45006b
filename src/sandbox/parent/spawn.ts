import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Log } from '../../common/log.ts'
import { CHILD_DATA_KB } from '../limits.ts'
import { modulesFolder } from './sources.ts'

const BOOT = readFileSync(new URL('../child/boot.js', import.meta.url), 'utf8')
const FD = 3
const NOBODY = '65534'
const PROBE_MS = 5_000

/** A core file would hold card data; no file may be written; the child is the first to go when memory is short. */
const SHELL = [
  'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
  `ulimit -d ${CHILD_DATA_KB}`,
  'ulimit -c 0',
  'ulimit -f 0',
  'exec "$@"',
].join('; ')

const FLAGS = [
  '--no-node-snapshot',
  '--jitless',
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

/** Commands that the rest of the line is given to, each keeping the child further away from everything. */
const WRAPPERS: readonly (readonly string[])[] = [
  ['unshare', '--net'],
  [
    'setpriv',
    `--reuid=${NOBODY}`,
    `--regid=${NOBODY}`,
    '--clear-groups',
    '--no-new-privs',
    '--pdeathsig=KILL',
  ],
]
/** For who is not root. */
const PLAIN_WRAPPERS: readonly (readonly string[])[] = [
  ['unshare', '--user', '--net'],
  ['setpriv', '--no-new-privs', '--pdeathsig=KILL'],
]

export interface Confinement {
  readonly wrapper: readonly string[]
  readonly missing: readonly string[]
}

const run = promisify(execFile)

/** Which of the wrappers work here, found out by running what a child needs inside each. */
export const probeConfinement = async (log: Log): Promise<Confinement> => {
  const wrappers = process.getuid?.() === 0 ? WRAPPERS : PLAIN_WRAPPERS
  const needs = `require(${JSON.stringify(fileURLToPath(import.meta.resolve('isolated-vm')))})`
  const works = async (wrapper: readonly string[]): Promise<boolean> => {
    const [command, ...rest] = [...wrapper, process.execPath, '--no-node-snapshot', '--eval', needs]
    return run(command as string, rest, { env: {}, cwd: '/', timeout: PROBE_MS }).then(
      () => true,
      () => false,
    )
  }
  const found = await Promise.all(wrappers.map(works))
  const confinement = {
    wrapper: wrappers.filter((_, index) => found[index]).flat(),
    missing: wrappers.filter((_, index) => !found[index]).map(([command]) => command as string),
  }
  if (confinement.missing.length > 0)
    log.info({ missing: confinement.missing }, 'sandbox children run without some of the confinement')
  return confinement
}

export interface Spawned {
  readonly process: ChildProcess
  readonly stream: Duplex
}

/** Starts a child; `start` is what boot.js reads first. It has no standard streams and an empty environment. */
export const spawnChild = ({ wrapper }: Confinement, start: string): Spawned => {
  const [command, ...rest] = [...wrapper, process.execPath, ...FLAGS] as [string, ...string[]]
  const child = spawn('/bin/sh', ['-c', SHELL, 'sh', command, ...rest], {
    cwd: '/',
    env: { TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    detached: true, // Ctrl-C is for the service
  })
  const stream = child.stdio[FD] as Duplex
  const text = Buffer.from(start)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  stream.write(Buffer.concat([length, text]))
  return { process: child, stream }
}
