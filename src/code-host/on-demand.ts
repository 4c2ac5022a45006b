import { AppError } from '../common/errors.ts'
import type { Outcome, Sandbox } from '../sandbox/types.ts'

const notStarted: Outcome = {
  kind: 'limit',
  limit: 'overload',
  message: 'there was nothing to run it in. Try again.',
  console: [],
  timing: { waited: 0, cpu: 0, wall: 0 },
}

/** A sandbox whose processes start when they are first needed, or warmed. A start that fails is tried again. */
export const onDemand = (start: () => Promise<Sandbox>): Sandbox => {
  let started: Promise<Sandbox> | undefined
  let closed = false
  const sandbox = (): Promise<Sandbox> => {
    if (closed) return Promise.reject(new AppError('unavailable', 'This process is stopping. Try again.'))
    started ??= start().catch((thrown) => {
      started = undefined
      throw thrown
    })
    return started
  }
  return {
    run: async (invocation) => {
      const ready = await sandbox().catch(() => undefined)
      return ready === undefined ? notStarted : ready.run(invocation)
    },
    check: async (program) => (await sandbox()).check(program),
    warm: async (programs) => (await sandbox()).warm(programs),
    health: async () => (await sandbox()).health(),
    close: async () => {
      closed = true
      await (await started?.catch(() => undefined))?.close()
    },
  }
}
