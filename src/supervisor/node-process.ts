import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { killQuietly } from '../common/kill.ts'
import type { ProcessKind } from './managed-process.ts'
import type {
  AcceptedSettings,
  ChildMessage,
  FailedComponent,
  ParentMessage,
  ProcessStart,
} from './messages.ts'
import { StartError } from './start-error.ts'

const ENTRY = fileURLToPath(new URL('../roles/process.ts', import.meta.url))

/**
 * glibc's default is eight arenas per core, each of which retains freed memory: a process then uses 30 to 100 MiB more
 * after the same requests.
 */
const MALLOC = { MALLOC_ARENA_MAX: '2' }

/**
 * MiB of each half of V8's young generation. V8 lets it grow to more than its limit for old objects leaves free, and
 * then collects old objects whenever the young ones would be due: every 1,000 calls instead of never (ADR 0119).
 */
const YOUNG = '--max-semi-space-size=16'

/**
 * ms without a collection of old objects after which an idle process returns memory. V8 does it after eight seconds,
 * and drops compiled code with it: each pause of that length made the calls after it slow for seconds (ADR 0119).
 */
const IDLE = '--gc-memory-reducer-start-delay-ms=300000'

/**
 * The admin process keeps audit records until they are ingested: V8 would collect old objects for each tenth of them.
 * And in some starts V8 would allocate objects of requests in the old generation, where they keep others alive when
 * they are dead: each call took more CPU then, until the process ended (ADR 0119).
 */
const OPTIONS: Readonly<Record<ProcessStart['kind'], readonly string[]>> = {
  gateway: [YOUNG, IDLE],
  admin: [YOUNG, IDLE, '--heap-growing-percent=100', '--no-allocation-site-pretenuring'],
}

/**
 * SIGUSR1 would open Node's inspector, which shows keys to any program of this machine. A port for it in NODE_OPTIONS
 * asks for that.
 */
const withoutInspector = ({ NODE_OPTIONS: options = '' }: NodeJS.ProcessEnv): readonly string[] =>
  options.includes('--inspect') ? [] : ['--disable-sigusr1']

/** Forks a process that waits for its `start` message. */
export const forkProcess = (
  { SIDEVAULT_BOOTSTRAP_KEY: key, ...env }: NodeJS.ProcessEnv,
  kind: ProcessStart['kind'],
): ChildProcess =>
  fork(ENTRY, [], {
    env: {
      ...MALLOC,
      ...(kind === 'admin' && key !== undefined ? { ...env, SIDEVAULT_BOOTSTRAP_KEY: key } : env),
    },
    execArgv: [...process.execArgv, ...withoutInspector(env), ...OPTIONS[kind]],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true, // Ctrl-C must reach only the supervisor, which ends its children in order.
  })

export const send = (child: ChildProcess | undefined, message: ParentMessage): void => {
  if (child?.connected) child.send(message, () => {}) // The child may end before it reads the message.
}

/** Time limit of a plugin's code at the start, ms. */
const CODE_LIMIT_MS = 12_000

const stuck = (place: string) =>
  new StartError(
    `One issue in the plugins; nothing was started:\n  ${place}: its code did not return within ${CODE_LIMIT_MS / 1000} s. ` +
      'Look for an endless loop. Repair the plugin, or remove it from the list.',
    { configuration: true },
  )

/** Kills the sandboxes of a process when it ends: one in an endless loop would not notice that. */
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

/** Children that have reported `ready`. */
const readyChildren = new WeakSet<ChildProcess>()

/** Timeouts in ms. A process that does not apply new settings in time is killed: it restarts with them. */
const SETTINGS_MS = 5_000
/** Longer for a starting process, which applies them after its start: a restart would take even longer. */
const STARTING_MS = 20_000
/** More than the timeout of each check. */
const CHECKED_MS = 5_000

/**
 * Sends `message` and resolves with the next report of the kind `reply`. Resolves with undefined when the process ends.
 * `onTimeout` is called after `ms`.
 */
const request = <K extends ChildMessage['kind']>(
  child: ChildProcess | undefined,
  message: ParentMessage,
  options: { readonly reply: K; readonly ms: number; readonly onTimeout: (end: () => void) => void },
): Promise<Extract<ChildMessage, { kind: K }> | undefined> =>
  new Promise((resolve) => {
    if (!child?.connected) return resolve(undefined)
    const done = (reply?: Extract<ChildMessage, { kind: K }>) => {
      clearTimeout(timeout)
      child.off('message', listen)
      child.off('exit', end)
      resolve(reply)
    }
    const end = () => done()
    const isReply = (report: ChildMessage): report is Extract<ChildMessage, { kind: K }> =>
      report.kind === options.reply
    const listen = (report: ChildMessage) => {
      if (isReply(report)) done(report)
    }
    const timeout = setTimeout(() => options.onTimeout(end), options.ms)
    child.on('message', listen)
    child.once('exit', end)
    send(child, message)
  })

/** Sends settings to a process. Resolves when it has applied them or has ended. */
export const applySettings = async (
  child: ChildProcess | undefined,
  settings: AcceptedSettings,
): Promise<void> => {
  await request(
    child,
    { kind: 'settings', settings },
    {
      reply: 'settings',
      ms: child !== undefined && readyChildren.has(child) ? SETTINGS_MS : STARTING_MS,
      onTimeout: () => child?.kill('SIGKILL'),
    },
  )
}

/** The components that fail, as this process sees them. Undefined if it has ended or does not respond in time. */
export const checkComponents = async (
  child: ChildProcess | undefined,
): Promise<readonly FailedComponent[] | undefined> => {
  const reply = await request(
    child,
    { kind: 'check' },
    { reply: 'checked', ms: CHECKED_MS, onTimeout: (end) => end() },
  )
  return reply?.failed
}

/** An admin or gateway process. `onReady` is called after each start. */
export const nodeKind = (
  name: string,
  options: {
    readonly start: () => ProcessStart
    /** Returns a process that waits for its `start` message. */
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
      send(child, { kind: 'start', start: options.start() })
      return child
    },
    doing: (child) => places.get(child),
    ready: (child, signal) =>
      new Promise((resolve, reject) => {
        let limit: NodeJS.Timeout | undefined
        child.on('message', (report: ChildMessage) => {
          if (report.kind === 'sandbox' || report.kind === 'settings' || report.kind === 'checked') return
          clearTimeout(limit)
          places.delete(child)
          if (report.kind === 'failed') return reject(new StartError(report.message, report))
          if (report.kind === 'ready') {
            readyChildren.add(child)
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
