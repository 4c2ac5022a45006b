import { AppError } from '../common/errors.ts'
import type { Outcome, Sandbox } from '../sandbox/types.ts'

const notStarted: Outcome = {
  kind: 'limit',
  limit: 'overload',
  message: 'the sandbox could not start. Retry later.',
  console: [],
  timing: { waited: 0, cpu: 0, wall: 0 },
}

/**
 * A sandbox whose processes start at first use or `warm`. Until then it reports healthy, so that readiness does not
 * depend on it. The next use or health check retries a failed start.
 */
export const onDemand = (start: () => Promise<Sandbox>): Sandbox => {
  let started: Promise<Sandbox> | undefined
  let ready: Sandbox | undefined
  let failed = false
  let closed = false

  const begin = async (): Promise<Sandbox> => {
    try {
      ready = await start()
      failed = false
      return ready
    } catch (thrown) {
      started = undefined
      failed = true
      throw thrown
    }
  }
  const sandbox = (): Promise<Sandbox> => {
    if (closed) return Promise.reject(new AppError('gateway_timeout', 'This process is stopping. Retry.'))
    started ??= begin()
    return started
  }

  return {
    run: async (invocation) => {
      const runs = await sandbox().catch(() => undefined)
      return runs === undefined ? notStarted : runs.run(invocation)
    },
    check: async (program) => (await sandbox()).check(program),
    warm: async (programs) => (await sandbox()).warm(programs),
    health: async () => {
      if (ready !== undefined) return ready.health()
      if (failed) await sandbox()
      return { missing: [] }
    },
    close: async () => {
      closed = true
      await (await started?.catch(() => undefined))?.close()
    },
  }
}
