import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { killQuietly } from '../common/kill.ts'
import type { ProcessKind } from './managed-process.ts'
import type { AcceptedSettings, ChildMessage, ParentMessage, ProcessStart } from './messages.ts'
import { StartError } from './start-error.ts'

const ENTRY = fileURLToPath(new URL('../roles/process.ts', import.meta.url))

/** MiB of new objects between two collections from the beginning on: a start makes many, and most of them stay. */
const YOUNG = '--min-semi-space-size=16'

/**
 * glibc would give threads up to eight arenas for each core, each of which keeps what was freed in it: after the same
 * requests a process then holds 30 to 100 MiB more.
 */
const MALLOC = { MALLOC_ARENA_MAX: '2' }

/** A process that waits for its `start` message. Without `kind`: a standby, which loads the modules of both kinds first. */
export const forkProcess = (
  { SIDEVAULT_BOOTSTRAP_KEY: key, ...env }: NodeJS.ProcessEnv,
  kind?: ProcessStart['kind'],
): ChildProcess =>
  fork(ENTRY, kind === undefined ? ['standby'] : [], {
    env: {
      ...MALLOC,
      ...(kind === 'admin' && key !== undefined ? { ...env, SIDEVAULT_BOOTSTRAP_KEY: key } : env),
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [YOUNG],
    detached: true, // Ctrl-C is for the supervisor, which ends its children in order
  })

export const order = (child: ChildProcess | undefined, message: ParentMessage): void => {
  if (child?.connected) child.send(message, () => {}) // it may end before it reads
}

/** Code of a plugin declares, or begins work that goes on by itself; what has not returned by then never will. */
const CODE_LIMIT_MS = 12_000

const stuck = (place: string) =>
  new StartError(
    `One issue in the plugins; nothing was started:\n  ${place}: its code did not return within ${CODE_LIMIT_MS / 1000} s. ` +
      'Look for a loop without end; repair the plugin, or remove it from the list.',
    { configuration: true },
  )

/** Children of a process that run tenants' code: killed when it ends, since one in an endless loop would not see that. */
const watchSandboxes = (child: ChildProcess): void => {
  const pids = new Set<number>()
  child.on('message', (report: ChildMessage) => {
    if (report.kind !== 'sandbox') return
    if (report.alive) pids.add(report.pid)
    else pids.delete(report.pid)
  })
  child.once('exit', () => {
    for (const pid of pids) killQuietly(pid)
  })
}

/** Those that have told that they answer. */
const responding = new WeakSet<ChildProcess>()

/** Nobody may go on with settings that were taken back; who is slower is born again with the new ones. */
const SETTINGS_MS = 5_000
/** Who is still starting takes them behind that, which on a busy machine would only take longer if it began anew. */
const STARTING_MS = 20_000

/** Resolves when a process goes by these settings, or is gone. */
export const giveSettings = (child: ChildProcess | undefined, settings: AcceptedSettings): Promise<void> =>
  new Promise((resolve) => {
    if (!child?.connected) return resolve()
    const done = () => {
      clearTimeout(late)
      child.off('message', listen)
      child.off('exit', done)
      resolve()
    }
    const listen = (report: ChildMessage) => {
      if (report.kind === 'settings') done()
    }
    const late = setTimeout(() => child.kill('SIGKILL'), responding.has(child) ? SETTINGS_MS : STARTING_MS)
    child.on('message', listen)
    child.once('exit', done)
    order(child, { kind: 'settings', settings })
  })

/** A process of ours (admin or gateway), kept alive; `onReady` gets its first words each time. */
export const nodeKind = (
  name: string,
  options: {
    readonly start: () => ProcessStart
    /** A process that waits for its order. */
    readonly spawn: () => ChildProcess
    readonly onReady: (report: Extract<ChildMessage, { kind: 'ready' }>) => void
  },
): ProcessKind => {
  const places = new WeakMap<ChildProcess, string>()
  return {
    name,
    spawn: () => {
      const child = options.spawn()
      watchSandboxes(child)
      order(child, { kind: 'start', start: options.start() })
      return child
    },
    doing: (child) => places.get(child),
    ready: (child, signal) =>
      new Promise((resolve, reject) => {
        let limit: NodeJS.Timeout | undefined
        child.on('message', (report: ChildMessage) => {
          if (report.kind === 'sandbox' || report.kind === 'settings') return
          clearTimeout(limit)
          places.delete(child)
          if (report.kind === 'failed') return reject(new StartError(report.message, report))
          if (report.kind === 'ready') {
            responding.add(child)
            options.onReady(report)
            return resolve()
          }
          const { place } = report
          if (place === undefined) return
          places.set(child, place)
          limit = setTimeout(() => reject(stuck(place)), CODE_LIMIT_MS)
        })
        const giveUp = () => {
          clearTimeout(limit)
          reject(signal.reason)
        }
        signal.addEventListener('abort', giveUp, { once: true })
      }),
  }
}
