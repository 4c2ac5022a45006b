import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { StartError } from './start-error.ts'

/** How one kind of process is started and reports that it is ready. */
export interface ProcessKind {
  readonly name: string
  spawn(): ChildProcess
  /** Resolves when this child is ready, rejects when it reports that it cannot start or `signal` fires. */
  ready(child: ChildProcess, signal: AbortSignal): Promise<void>
  /** The plugin whose code this child last reported to run, for the error of an early end. */
  doing?(child: ChildProcess): string | undefined
}

export interface StopOptions {
  /** It is killed after this time. */
  readonly graceMs: number
  /** It is killed when this fires. */
  readonly kill: AbortSignal
}

/** A process that is restarted when it ends. */
export interface Managed {
  readonly name: string
  readonly child: ChildProcess | undefined
  /** Resolves when it is ready for the first time; rejects when it ends before. */
  readonly started: Promise<void>
  /** Asks it to end by `ask`, and does not restart it. Resolves when it has ended. */
  stop(ask: (child: ChildProcess) => void, options: StopOptions): Promise<void>
}

/** Exits within this time (ms) count for the backoff. */
const WINDOW = 10_000
const FREE_RESTARTS = 4
const MAX_DELAY = 2_000

/** Causes of signals that no process sends. */
const CAUSES: Readonly<Record<string, string>> = {
  SIGBUS: ' because a mapped file could not be read or written: check the disk of the data directory',
}

/** What to do after a signal that ended a process before it was ready. */
const REMEDIES: Readonly<Record<string, string>> = {
  SIGKILL: "Start again. If it happens again, check the system's log for a lack of memory.",
  SIGBUS: 'Check the disk of the data directory, then start again.',
}

/** Delay (ms) of a restart after `exits` exits within the window. The first restarts are immediate. */
const delayAfter = (exits: number): number =>
  exits <= FREE_RESTARTS ? 0 : Math.min(MAX_DELAY, 100 * 2 ** (exits - FREE_RESTARTS - 1))

/** Starts a process and restarts it whenever it ends, with exponential backoff if it ends repeatedly. */
export const manage = (
  kind: ProcessKind,
  deps: { readonly log: Log; readonly clock: Clock; readonly onSpawn?: (child: ChildProcess) => void },
): Managed => {
  const { name } = kind
  let current: ChildProcess | undefined
  let stopping = false
  let everReady = false
  let exits: readonly number[] = []
  let restart: NodeJS.Timeout | undefined
  /** The error of the last start; undefined after a successful one. */
  let known: string | undefined
  const isKnown = (failure: Error) => failure.message === known
  const { promise: started, resolve, reject } = Promise.withResolvers<void>()

  const respawn = () => {
    const now = deps.clock.now()
    exits = [...exits.filter((at) => at > now - WINDOW), now]
    restart = setTimeout(() => {
      try {
        spawn()
      } catch (error) {
        // The system may be out of memory.
        deps.log.error({ name }, `process cannot be started: ${String(error)}`)
        respawn()
      }
    }, delayAfter(exits.length))
  }

  const spawn = () => {
    const child = kind.spawn()
    const attempt = new AbortController()
    current = child
    let failure: Error | undefined
    kind.ready(child, attempt.signal).then(
      () => {
        if (everReady) deps.log.info({ name, pid: child.pid }, 'process restarted')
        known = undefined
        everReady = true
        resolve()
      },
      (error) => {
        failure = error
        if (everReady && !attempt.signal.aborted && !isKnown(error)) deps.log.error({ name }, error.message)
        if (!attempt.signal.aborted) child.kill('SIGKILL')
      },
    )
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      attempt.abort()
      current = undefined
      if (stopping) return
      if (!everReady) {
        stopping = true
        // A report of its own, if any, arrives before it ends.
        const at = kind.doing?.(child)
        const where = at === undefined ? '' : ` while it ran the code of ${at}`
        const how = signal ?? `exit code ${code}`
        const remedy = REMEDIES[signal ?? ''] ?? 'See the log lines above, then start again.'
        reject(failure ?? new StartError(`${name} ended before it was ready (${how})${where}. ${remedy}`))
        return
      }
      // Repeated failures with the same error are logged once.
      if (failure === undefined || !isKnown(failure))
        deps.log.warn({ name, code, signal }, `process exited${CAUSES[signal ?? ''] ?? ''}; restarting it`)
      known = failure?.message
      respawn()
    }
    // Without a pid the child was never started, and no 'exit' follows.
    child.on('error', (error) => {
      if (child.pid !== undefined) return
      failure = error
      ended(null, null)
    })
    child.once('exit', ended)
    deps.onSpawn?.(child)
  }
  spawn()

  return {
    name,
    started,
    get child() {
      return current
    },
    stop: async (ask, { graceMs, kill }) => {
      stopping = true
      clearTimeout(restart)
      const child = current
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      const killNow = () => child.kill('SIGKILL')
      kill.addEventListener('abort', killNow, { once: true })
      if (kill.aborted) killNow()
      else ask(child)
      const timeout = setTimeout(() => {
        deps.log.warn(
          { name, pid: child.pid, ms: graceMs },
          'process did not exit within the grace period; sending SIGKILL',
        )
        killNow()
      }, graceMs)
      await exited
      clearTimeout(timeout)
      kill.removeEventListener('abort', killNow)
    },
  }
}
