/** Whether the service is ready, asked without a request that would be logged. */
import { setTimeout } from 'node:timers/promises'
import type { FailedComponent } from './messages.ts'

/** ms between two checks: short at first, since most starts need few. */
const SOON_MS = 25
const SOON_FOR_MS = 1_000
const LATER_MS = 250

export interface ReadinessDeps {
  /** The components that fail. Undefined: unknown, as their process does not respond. */
  readonly failed: () => Promise<readonly FailedComponent[] | undefined>
  /** Status of `GET /readyz` through the edge. Undefined if there is no response. */
  readonly probe: () => Promise<number | undefined>
}

const failedNow = async ({ failed, probe }: ReadinessDeps): Promise<readonly FailedComponent[]> => {
  const components = await failed()
  if (components === undefined) return [{ name: 'health', reason: 'its process does not respond' }]
  // Envoy logs requests: it gets one when the rest is ready.
  if (components.length > 0) return components
  const status = await probe()
  if (status === 200) return []
  return [{ name: 'edge', reason: status === undefined ? 'no response' : `/readyz has status ${status}` }]
}

/**
 * Resolves when all components work and the edge is ready, or `signal` fires. `onFailed` gets what fails, after each
 * check.
 */
export const waitUntilReady = async (
  deps: ReadinessDeps,
  { signal, onFailed }: { signal: AbortSignal; onFailed: (failed: readonly FailedComponent[]) => void },
): Promise<void> => {
  const began = performance.now()
  while (!signal.aborted) {
    const failed = await failedNow(deps)
    onFailed(failed)
    if (failed.length === 0) return
    const ms = performance.now() - began < SOON_FOR_MS ? SOON_MS : LATER_MS
    await setTimeout(ms)
  }
}
