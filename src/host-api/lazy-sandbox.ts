import { AppError } from '../common/errors.ts'
import type { Confinement } from '../sandbox/parent/confinement.ts'
import type { Outcome, Sandbox } from '../sandbox/types.ts'

const notStarted: Outcome = {
  kind: 'limit',
  limit: 'overload',
  message: 'the sandbox could not start. Retry later.',
  console: [],
  timing: { waited: 0, cpu: 0, wall: 0 },
}

/** How a sandbox is started. */
export interface SandboxStart {
  /** Detects the confinement that this machine provides. Rejects when a required one is missing, or `signal` aborts. */
  readonly confine: (signal: AbortSignal) => Promise<Confinement>
  readonly start: (confinement: Confinement) => Promise<Sandbox>
}

/**
 * A sandbox whose processes start with the first code: at `run`, `check`, or `warm` with a program. Until then it
 * reports healthy, so that readiness does not depend on it. `warm` without programs detects the confinement only. The
 * next use or health check retries what failed. `close` ends the processes that detect the confinement, and `warm`
 * resolves then.
 */
export const createLazySandbox = ({ confine, start }: SandboxStart): Sandbox => {
  let confining: Promise<Confinement> | undefined
  let started: Promise<Sandbox> | undefined
  let confinement: Confinement | undefined
  let ready: Sandbox | undefined
  let failed = false
  const closing = new AbortController()

  const detect = async (): Promise<Confinement> => {
    try {
      confinement = await confine(closing.signal)
      return confinement
    } catch (thrown) {
      confining = undefined
      throw thrown
    }
  }
  const confined = (): Promise<Confinement> => {
    closing.signal.throwIfAborted()
    confining ??= detect()
    return confining
  }
  const begin = async (): Promise<Sandbox> => {
    try {
      ready = await start(await confined())
      failed = false
      return ready
    } catch (thrown) {
      started = undefined
      failed = true
      throw thrown
    }
  }
  const sandbox = (): Promise<Sandbox> => {
    if (closing.signal.aborted) return Promise.reject(closing.signal.reason)
    started ??= begin()
    return started
  }

  return {
    run: async (invocation) => {
      const runs = await sandbox().catch(() => undefined)
      return runs === undefined ? notStarted : runs.run(invocation)
    },
    check: async (program) => (await sandbox()).check(program),
    warm: async (programs) => {
      try {
        if (programs.length > 0) await (await sandbox()).warm(programs)
        else await confined()
      } catch (thrown) {
        if (!closing.signal.aborted) throw thrown
      }
    },
    health: async () => {
      if (ready !== undefined) return ready.health()
      if (failed) await sandbox()
      return { missing: confinement?.missing ?? [] }
    },
    close: async () => {
      closing.abort(new AppError('gateway_timeout', 'This process is stopping. Retry.'))
      await confining?.catch(() => undefined)
      await (await started?.catch(() => undefined))?.close()
    },
  }
}
