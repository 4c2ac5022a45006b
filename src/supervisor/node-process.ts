import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ProcessKind } from './managed.ts'
import type { Order, ProcessStart, Report } from './messages.ts'
import { StartError } from './start-error.ts'

const ENTRY = fileURLToPath(new URL('../roles/process.ts', import.meta.url))

/** A process of ours that waits for its `start` order, having loaded what `kind` needs; without one: what any needs. */
export const forkProcess = (env: NodeJS.ProcessEnv, cwd: string, kind?: ProcessStart['kind']): ChildProcess =>
  fork(ENTRY, kind === undefined ? [] : [kind], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true, // Ctrl-C is for the supervisor, which ends its children in order
  })

export const order = (child: ChildProcess | undefined, message: Order): void => {
  if (child?.connected) child.send(message, () => {}) // it may end before it reads
}

/** A process of ours (admin or gateway), kept alive; `onReady` gets its first words each time. */
export const nodeKind = (
  name: string,
  options: {
    readonly start: ProcessStart
    /** A process that waits for its order. */
    readonly spawn: () => ChildProcess
    readonly onReady: (report: Extract<Report, { kind: 'ready' }>) => void
  },
): ProcessKind => ({
  name,
  spawn: () => {
    const child = options.spawn()
    order(child, { kind: 'start', start: options.start })
    return child
  },
  ready: (child, signal) =>
    new Promise((resolve, reject) => {
      child.on('message', (report: Report) => {
        if (report.kind === 'failed') return reject(new StartError(report.message))
        options.onReady(report)
        resolve()
      })
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }),
})
