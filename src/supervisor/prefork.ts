import type { ProcessStart } from './messages.ts'
import { forkProcess } from './node-process.ts'

type Kind = ProcessStart['kind']

export interface Early {
  /** A process of this kind that is alive, at most once. It belongs to the caller. */
  take(kind: Kind): ReturnType<typeof forkProcess> | undefined
  /** Ends those that nobody took. */
  close(): void
}

/**
 * One process of each kind, which load their modules while the supervisor still loads its own and reads the configuration:
 * that is a third of a start, on one core. This module and what it imports are small for that reason.
 */
export const prefork = (env: NodeJS.ProcessEnv): Early => {
  const waiting = new Map(
    (['admin', 'gateway'] as const).map((kind: Kind) => {
      const child = forkProcess(env, kind)
      child.on('error', () => {}) // whoever needs it forks another
      return [kind, child]
    }),
  )
  return {
    take: (kind) => {
      const child = waiting.get(kind)
      waiting.delete(kind)
      return child?.connected ? child : undefined
    },
    close: () => {
      for (const child of waiting.values()) child.kill('SIGKILL')
      waiting.clear()
    },
  }
}
