import { AppError } from '../common/errors.ts'
import type { Outcome, Sandbox } from '../sandbox/types.ts'

const notStarted: Outcome = {
  kind: 'limit',
  limit: 'overload',
  message: 'there was nothing to run it in. Try again.',
  console: [],
  timing: { waited: 0, cpu: 0, wall: 0 },
}

/**
 * A sandbox whose processes start when they are first needed, or warmed; who needs them waits for that. Its health is
 * good until they have started for the first time, so that nothing else waits. A start that failed is tried again by
 * the next use, or by whoever asks for its health.
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
    if (closed) return Promise.reject(new AppError('gateway_timeout', 'This process is stopping. Try again.'))
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
