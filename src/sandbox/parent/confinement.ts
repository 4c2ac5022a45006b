import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { CONFINEMENTS, type ConfinementName } from '../types.ts'
import { modulesFolder } from './sources.ts'
import { abiAndCalls } from './syscalls.ts'

const CONFINE = readFileSync(new URL('./confine.pl', import.meta.url), 'utf8')
const NOBODY_UID = '65534'
const PROBE_MS = 5_000

/** landlock(7): what may be done with what is below a path. */
const READ = 4 + 8
const RUN = 1 + READ
const READ_WRITE = 2 + 4

/** Folders of the libraries that this process has loaded: a child is the same program. */
const libraries = (): readonly string[] => {
  try {
    const files = readFileSync('/proc/self/maps', 'utf8').match(/\/.*\.so(?=[.\n]).*$/gm) ?? []
    return [...new Set(files.map(dirname))].filter((folder) => !folder.includes('/node_modules'))
  } catch {
    return []
  }
}

/** What a child may open. Of other processes /proc shows it what everybody may know: landlock closes the rest. */
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

/** The beginning of a command line, and what it gives to the command that follows. */
interface Wrapper {
  readonly command: readonly string[]
  readonly gives: readonly ConfinementName[]
}

const DIES_WITH_US = ['setpriv', '--no-new-privs', '--pdeathsig=KILL']

/** Of each row the first that works here. */
const rows = (): readonly (readonly Wrapper[])[] => {
  const [abi, calls] = abiAndCalls(process.arch) ?? []
  const confine = (allowed: string, files: string) => ['perl', '-e', CONFINE, '--', abi ?? '', allowed, files]
  const known = abi !== undefined && calls !== undefined
  return [
    [{ command: ['unshare', '--net'], gives: ['network'] }],
    [
      {
        command: [...DIES_WITH_US, `--reuid=${NOBODY_UID}`, `--regid=${NOBODY_UID}`, '--clear-groups'],
        gives: ['uid'],
      },
      // root, and nobody else may read the installation: as root without its capabilities
      { command: [...DIES_WITH_US, '--bounding-set=-all', '--inh-caps=-all'], gives: [] },
      { command: DIES_WITH_US, gives: [] },
    ],
    known
      ? [
          { command: confine(calls, paths()), gives: ['network', 'syscalls', 'files'] },
          { command: confine(calls, ''), gives: ['network', 'syscalls'] },
          { command: confine('', paths()), gives: ['files'] },
        ]
      : [],
  ]
}

export interface Confinement {
  /** The beginning of a child's command line. */
  readonly wrapper: readonly string[]
  /** What could not be had here. */
  readonly missing: readonly ConfinementName[]
}

const PROBE = `require(process.argv[1])
setTimeout(() => process.exit(1), ${PROBE_MS})
process.stdout.write('.')`

/** A child has to run Node, to load what is installed, and to be ended by us: one of another user takes CAP_KILL. */
const works = ({ command }: Wrapper): Promise<boolean> =>
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
    child.stdout.once('data', () => child.kill('SIGKILL'))
    child.once('error', () => resolve(false))
    child.once('exit', (_code, signal) => resolve(signal === 'SIGKILL'))
  })

const firstThatWorks = async (row: readonly Wrapper[]): Promise<Wrapper | undefined> => {
  for (const wrapper of row) if (await works(wrapper)) return wrapper
  return undefined
}

/** Which of the wrappers work here, found out by doing what a child needs inside each. */
export const probeConfinement = async (): Promise<Confinement> => {
  const found = (await Promise.all(rows().map(firstThatWorks))).filter((wrapper) => wrapper !== undefined)
  // within a user namespace there is no other user to be: only where neither this nor the filter could be had
  const withoutNetwork: Wrapper = {
    command: ['unshare', '--user', '--net', ...found.flatMap(({ command }) => command)],
    gives: ['network'],
  }
  if (
    !found.some(({ gives }) => gives.includes('network') || gives.includes('uid')) &&
    (await works(withoutNetwork))
  )
    found.unshift({ command: ['unshare', '--user', '--net'], gives: ['network'] })
  const given = new Set(found.flatMap(({ gives }) => gives))
  return {
    wrapper: found.flatMap(({ command }) => command),
    missing: CONFINEMENTS.filter((name) => !given.has(name)),
  }
}

const FIXES: Readonly<Record<ConfinementName, string>> = {
  uid: 'start as root, with the capabilities SETUID, SETGID and KILL at least, and let others read the installation',
  network: 'see "syscalls", or allow user namespaces',
  syscalls: 'Linux on x86-64 or arm64 with Perl, where seccomp(2) may be called',
  files:
    'Linux 5.13 or newer with Perl and landlock among its security modules (lsm=), where landlock(7) may be called',
}

/** One line about what is missing. Throws `invalid` with the remedy when something `required` is. */
export const checkConfinement = ({ missing }: Confinement, required: readonly string[], log: Log): void => {
  if (missing.length > 0) log.warn({ missing }, 'sandbox children run without some of the confinement')
  const lacking = missing.filter((name) => required.includes(name))
  if (lacking.length > 0)
    throw new AppError(
      'invalid',
      `SIDEVAULT_SANDBOX_REQUIRE asks for what this system does not give the processes that run transforms and formulas: ${lacking
        .map((name) => `${name} (it takes: ${FIXES[name]})`)
        .join('; ')}. Provide it, or take it out of the list.`,
    )
}
