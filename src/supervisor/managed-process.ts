import type { ChildProcess } from 'node:child_process'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'

/** How one kind of process is born and known to answer. */
export interface ProcessKind {
  readonly name: string
  spawn(): ChildProcess
  /** Resolves when this child answers; rejects when it says that it cannot start. Gives up on `signal`. */
  ready(child: ChildProcess, signal: AbortSignal): Promise<void>
  /** What this child was at when it last said something, for the words on an early end. */
  doing?(child: ChildProcess): string | undefined
}

/** A process that is kept alive. */
export interface Managed {
  readonly name: string
  readonly child: ChildProcess | undefined
  /** Resolves when it first answers; rejects when it ends before it ever did. */
  readonly started: Promise<void>
  /** Asks it to end by `ask`, kills it after `graceMs`; resolves when it is gone. It is not restarted. */
  stop(ask: (child: ChildProcess) => void, graceMs: number): Promise<void>
}

/** Deaths within this time count towards the pause before the next birth. */
const WINDOW = 10_000
const FREE_RESTARTS = 4
const LONGEST_PAUSE = 2_000

/** What a signal says that nobody sent. */
const ENDS: Readonly<Record<string, string>> = {
  SIGBUS:
    ' because a file that it had mapped could not be read or written: look at the disk of the data directory',
}

/** Milliseconds to wait before a restart after `deaths` deaths within the window: the first few are free. */
const pauseAfter = (deaths: number): number =>
  deaths <= FREE_RESTARTS ? 0 : Math.min(LONGEST_PAUSE, 100 * 2 ** (deaths - FREE_RESTARTS - 1))

/** Starts a process and restarts it whenever it ends, at once, with growing pauses when it keeps dying. */
export const manage = (
  kind: ProcessKind,
  deps: { readonly log: Log; readonly clock: Clock; readonly onSpawn?: (child: ChildProcess) => void },
): Managed => {
  const { name } = kind
  let current: ChildProcess | undefined
  let stopping = false
  let everReady = false
  let deaths: readonly number[] = []
  let restart: NodeJS.Timeout | undefined
  /** Why the last start failed; undefined since one did not. */
  let known: string | undefined
  const isKnown = (failure: Error) => failure.message === known
  const { promise: started, resolve, reject } = Promise.withResolvers<void>()

  const respawn = () => {
    const now = deps.clock.now()
    deaths = [...deaths.filter((at) => at > now - WINDOW), now]
    restart = setTimeout(() => {
      try {
        spawn()
      } catch (error) {
        // The system may have no memory for another process just now.
        deps.log.error({ name }, `process cannot be started: ${String(error)}`)
        respawn()
      }
    }, pauseAfter(deaths.length))
  }

  const spawn = () => {
    const child = kind.spawn()
    const attempt = new AbortController()
    current = child
    let failure: Error | undefined
    kind.ready(child, attempt.signal).then(
      () => {
        if (everReady) deps.log.info({ name, pid: child.pid }, 'process is back')
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
        // a report of its own, if it made one, arrives before its end
        const at = kind.doing?.(child)
        const where = at === undefined ? '' : ` while it ran the code of ${at}`
        reject(
          failure ??
            new Error(`${name} ended before it was ready (${signal ?? `exit code ${code}`})${where}`),
        )
        return
      }
      // Of many starts that fail alike the first tells.
      if (failure === undefined || !isKnown(failure))
        deps.log.warn({ name, code, signal }, `process ended${ENDS[signal ?? ''] ?? ''}; restarting it`)
      known = failure?.message
      respawn()
    }
    // Anything that cannot be done with it; that it never was is told here only.
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
    stop: async (ask, graceMs) => {
      stopping = true
      clearTimeout(restart)
      const child = current
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise<void>((done) => child.once('exit', () => done()))
      ask(child)
      const kill = setTimeout(() => {
        deps.log.warn({ name, pid: child.pid, ms: graceMs }, 'process did not end when asked; it is killed')
        child.kill('SIGKILL')
      }, graceMs)
      await gone
      clearTimeout(kill)
    },
  }
}
