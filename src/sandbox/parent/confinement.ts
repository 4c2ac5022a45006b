import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../common/log.ts'
import { CONFINEMENTS, type ConfinementName } from '../types.ts'
import { checkConfinement } from './check-confinement.ts'
import { modulesFolder } from './modules-folder.ts'
import { abiAndCalls } from './syscalls.ts'

const CONFINE = readFileSync(new URL('./confine.pl', import.meta.url), 'utf8')
const NOBODY_UID = '65534'
const PROBE_MS = 5_000

/** landlock(7): access rights below a path. */
const READ = 4 + 8
const RUN = 1 + READ
const READ_WRITE = 2 + 4

/** Folders of the shared libraries of this process; a child is the same program. */
const libraries = (): readonly string[] => {
  try {
    const files = readFileSync('/proc/self/maps', 'utf8').match(/\/.*\.so(?=[.\n]).*$/gm) ?? []
    return [...new Set(files.map(dirname))].filter((folder) => !folder.includes('/node_modules'))
  } catch {
    return []
  }
}

/** Readable paths of a child. landlock also denies the files in /proc of other processes that need ptrace. */
const paths = (): string =>
  [
    [RUN, process.execPath],
    ...libraries().map((folder) => [RUN, folder]),
    [READ, modulesFolder()],
    ...['/proc', '/sys/devices/system/cpu', '/sys/fs/cgroup'].map((path) => [READ, path]),
    ...['/etc/ld.so.cache', '/etc/ssl/openssl.cnf', '/usr/share/zoneinfo'].map((path) => [READ, path]),
    [READ_WRITE, '/dev/null'],
  ]
    .map((rule) => rule.join(' '))
    .join('\n')

/** Prefix of a command line, and the confinement that it provides. */
interface Wrapper {
  readonly command: readonly string[]
  readonly provides: readonly ConfinementName[]
}

const KILLED_WITH_PARENT = ['setpriv', '--no-new-privs', '--pdeathsig=KILL']

/** Wrappers in rows: of each row the first that works on this machine is used. */
const alternatives = (): readonly (readonly Wrapper[])[] => {
  const [abi, calls] = abiAndCalls(process.arch) ?? []
  const confine = (allowed: string, files: string) => ['perl', '-e', CONFINE, '--', abi ?? '', allowed, files]
  const known = abi !== undefined && calls !== undefined
  return [
    [{ command: ['unshare', '--net'], provides: ['network'] }],
    [
      {
        command: [...KILLED_WITH_PARENT, `--reuid=${NOBODY_UID}`, `--regid=${NOBODY_UID}`, '--clear-groups'],
        provides: ['uid'],
      },
      // only root may read the installation: root without capabilities
      { command: [...KILLED_WITH_PARENT, '--bounding-set=-all', '--inh-caps=-all'], provides: [] },
      { command: KILLED_WITH_PARENT, provides: [] },
    ],
    known
      ? [
          { command: confine(calls, paths()), provides: ['network', 'syscalls', 'files'] },
          { command: confine(calls, ''), provides: ['network', 'syscalls'] },
          { command: confine('', paths()), provides: ['files'] },
        ]
      : [],
  ]
}

export interface Confinement {
  /** Prefix of a child's command line. */
  readonly wrapper: readonly string[]
  /** Unavailable on this machine. */
  readonly missing: readonly ConfinementName[]
}

const PROBE = `require(process.argv[1])
setTimeout(() => process.exit(1), ${PROBE_MS})
process.stdout.write('.')`

/**
 * Tests a wrapper: Node must run, load installed packages, and be killable (another user needs CAP_KILL). `signal`
 * kills the process. The promise settles after its end.
 */
const works = ({ command }: Wrapper, signal: AbortSignal | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    const addon = fileURLToPath(import.meta.resolve('isolated-vm'))
    const node = [process.execPath, '--jitless', '--no-node-snapshot', '--eval', PROBE, addon]
    const [file, ...args] = [...command, ...node] as [string, ...string[]]
    const child = spawn(file, args, {
      env: {},
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 2 * PROBE_MS,
    })
    const kill = () => child.kill('SIGKILL')
    const settle = (result: boolean) => {
      signal?.removeEventListener('abort', kill)
      resolve(result)
    }
    signal?.addEventListener('abort', kill)
    let ran = false
    child.stdout.once('data', () => {
      ran = true
      kill()
    })
    child.stdout.on('error', kill)
    child.on('error', () => settle(false))
    child.once('exit', (_code, endedBy) => settle(ran && endedBy === 'SIGKILL'))
  })

const firstThatWorks = async (
  row: readonly Wrapper[],
  signal: AbortSignal | undefined,
): Promise<Wrapper | undefined> => {
  for (const wrapper of row) {
    if (await works(wrapper, signal)) return wrapper
    if (signal?.aborted) return undefined
  }
  return undefined
}

/**
 * Detects the wrappers that work on this machine by running Node in each. When `signal` aborts, rejects with its reason
 * after the end of these processes.
 */
const probeConfinement = async (signal?: AbortSignal): Promise<Confinement> => {
  signal?.throwIfAborted()
  const tried = await Promise.all(alternatives().map((row) => firstThatWorks(row, signal)))
  signal?.throwIfAborted()
  const wrappers = tried.filter((wrapper) => wrapper !== undefined)
  // last resort: in a user namespace the `uid` confinement is not available
  const withoutNetwork: Wrapper = {
    command: ['unshare', '--user', '--net', ...wrappers.flatMap(({ command }) => command)],
    provides: ['network'],
  }
  if (
    !wrappers.some(({ provides }) => provides.includes('network') || provides.includes('uid')) &&
    (await works(withoutNetwork, signal))
  )
    wrappers.unshift({ command: ['unshare', '--user', '--net'], provides: ['network'] })
  signal?.throwIfAborted()
  const provided = new Set(wrappers.flatMap(({ provides }) => provides))
  return {
    wrapper: wrappers.flatMap(({ command }) => command),
    missing: CONFINEMENTS.filter((name) => !provided.has(name)),
  }
}

/**
 * The confinement that this machine provides. Rejects with `invalid` and the fix when a `required` one is missing, and
 * with the reason of `signal` when that aborts.
 */
export const detectConfinement = async (
  required: readonly string[],
  log: Log,
  signal?: AbortSignal,
): Promise<Confinement> => {
  const confinement = await probeConfinement(signal)
  checkConfinement(confinement, required, log)
  return confinement
}
