import { whenAborted } from '../common/when-aborted.ts'
import type { Managed } from './managed-process.ts'
import type { FailedComponent } from './messages.ts'
import { type ReadinessDeps, waitUntilReady } from './readiness.ts'
import { StartError } from './start-error.ts'

const READY_TIMEOUT_MS = 60_000

const nameWithReason = ({ name, reason }: FailedComponent): string =>
  reason === undefined ? name : `${name} (${reason.replace(/\.$/, '')})`

/** Error of a start that takes too long. `failed`: components that it waits for. */
const notReady = (failed: readonly FailedComponent[], ms: number): StartError =>
  new StartError(
    `The service did not become ready within ${ms / 1000} s. Failed: ${failed.map(nameWithReason).join(', ') || 'unknown'}. See the log lines above.`,
  )

/** The time limit of a start. Both waits reject with `notReady` when it is over, and with the reason of `halt`. */
export const limitStart = (halt: AbortSignal) => {
  const timeout = AbortSignal.timeout(READY_TIMEOUT_MS)
  const signal = AbortSignal.any([timeout, halt])
  const aborted = whenAborted(signal)
  /** Components that the start waits for. */
  let pending: readonly FailedComponent[] = []

  const limited = async (work: Promise<unknown>): Promise<void> => {
    try {
      await Promise.race([work, aborted])
    } catch (error) {
      throw error === timeout.reason ? notReady(pending, READY_TIMEOUT_MS) : error
    }
  }
  const whenStarted = async (processes: readonly Managed[]) => {
    const starting = new Set(processes)
    const show = () => {
      pending = [...starting].map(({ name }) => ({ name, reason: 'it has not started' }))
    }
    show()
    await Promise.all(
      processes.map(async (process) => {
        await process.started
        starting.delete(process)
        show()
      }),
    )
  }
  return {
    untilStarted: (processes: readonly Managed[]) => limited(whenStarted(processes)),
    untilReady: (deps: ReadinessDeps) => {
      const onFailed = (failed: readonly FailedComponent[]) => {
        pending = failed
      }
      return limited(waitUntilReady(deps, { signal, onFailed }).then(() => signal.throwIfAborted()))
    },
  }
}
