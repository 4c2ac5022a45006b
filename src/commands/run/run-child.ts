import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { codeOf } from '../../common/errors.ts'
import { hasTerminal } from '../../common/terminal.ts'

/** Exit codes of shells: the command cannot be executed, or does not exist. */
const NOT_EXECUTABLE = 126
const NOT_FOUND = 127
const SIGNALED = 128

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const
type Signal = (typeof SIGNALS)[number]

/** The terminal sends these to all processes of its foreground group. */
const OF_TERMINAL: readonly Signal[] = ['SIGINT', 'SIGQUIT']

export const exitCodeOf = (signal: NodeJS.Signals): number => SIGNALED + (constants.signals[signal] ?? 0)

/** Passes signals on to the command, once it runs. Until then the first one is held. */
interface Signals {
  /** A signal that came before the command ran. */
  readonly early: NodeJS.Signals | undefined
  to(target: (signal: NodeJS.Signals) => void): void
  close(): void
}

export const passSignals = (): Signals => {
  let early: NodeJS.Signals | undefined
  let pass: ((signal: NodeJS.Signals) => void) | undefined
  const terminal = hasTerminal()
  const on = (signal: Signal) => {
    if (pass === undefined) early ??= signal
    else if (!terminal || !OF_TERMINAL.includes(signal)) pass(signal)
  }
  for (const signal of SIGNALS) process.on(signal, on)
  // The process that runs this program under another Node was killed.
  const orphaned = () => on('SIGTERM')
  if (process.channel) {
    process.on('disconnect', orphaned)
    process.channel.unref()
  }
  return {
    get early() {
      return early
    },
    to: (target) => {
      pass = target
    },
    close: () => {
      for (const signal of SIGNALS) process.removeListener(signal, on)
      process.removeListener('disconnect', orphaned)
    },
  }
}

/** Runs the command to its end; resolves with its exit code, 128 and the number of a signal that ended it. */
export const runChild = (
  [file = '', ...args]: readonly string[],
  options: { readonly cwd: string; readonly env: Record<string, string>; readonly signals: Signals },
): Promise<number> =>
  new Promise((resolve) => {
    const { cwd, env, signals } = options
    const fail = (error: unknown) => {
      const absent = ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
      process.stderr.write(
        `sidevault: the command "${file}" ${absent ? 'was not found' : 'cannot be executed'}\n`,
      )
      resolve(absent ? NOT_FOUND : NOT_EXECUTABLE)
    }
    let child: ChildProcess
    try {
      child = spawn(file, args, { cwd, env, stdio: 'inherit' })
    } catch (error) {
      // Some errors of the operating system come at once, e.g. ELOOP; so does that of an empty name.
      fail(error)
      return
    }
    signals.to((signal) => child.kill(signal))
    // A signal that cannot be sent is an error, too.
    child.on('error', (error) => {
      if (child.pid === undefined) fail(error)
    })
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : exitCodeOf(signal))))
  })
