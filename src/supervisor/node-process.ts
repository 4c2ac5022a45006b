import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ProcessKind } from './managed.ts'
import type { Order, ProcessStart, Report } from './messages.ts'
import { StartError } from './start-error.ts'

const ENTRY = fileURLToPath(new URL('../roles/process.ts', import.meta.url))

export const order = (child: ChildProcess | undefined, message: Order): void => {
  if (child?.connected) child.send(message, () => {}) // it may end before it reads
}

/** A process of ours (admin or gateway), kept alive; `onReady` gets its first words each time. */
export const nodeKind = (
  name: string,
  options: {
    readonly start: ProcessStart
    readonly cwd: string
    readonly env: NodeJS.ProcessEnv
    readonly onReady?: (report: Extract<Report, { kind: 'ready' }>) => void
  },
): ProcessKind => ({
  name,
  spawn: () =>
    fork(ENTRY, [JSON.stringify(options.start)], {
      cwd: options.cwd,
      env: options.env,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true, // Ctrl-C is for the supervisor, which ends its children in order
    }),
  ready: (child, signal) =>
    new Promise((resolve, reject) => {
      child.on('message', (report: Report) => {
        if (report.kind === 'failed') return reject(new StartError(report.message))
        options.onReady?.(report)
        resolve()
      })
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }),
})
