import { untilNext } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { createLogThrottle } from '../common/log-throttle.ts'
import type { ProxyDirectory } from '../kernel/types.ts'
import type { Program, StoredProxy } from '../sdk/index.ts'

/** Most newest, and most recently used, proxies whose code is warmed. */
const PROXIES = 100

interface WarmerDeps {
  readonly proxies: Pick<ProxyDirectory, 'changes' | 'recentlyUsed'>
  readonly sandbox: { warm(programs: readonly Program[]): Promise<void> }
  readonly log: Log
}

/** The code of stored proxies. */
const programsOf = ({ tenantId, requestTransform, responseTransform }: StoredProxy) => [
  ...(requestTransform === undefined
    ? []
    : [{ tenantId, name: 'request_transform', code: requestTransform }]),
  ...(responseTransform === undefined
    ? []
    : [{ tenantId, name: 'response_transform', code: responseTransform }]),
]

/**
 * Makes transforms ready before their first call: at the start, and when proxies were changed, by this process or
 * another. A failure is logged and costs a first call its speed.
 */
export const startWarmer = (
  { proxies, sandbox, log }: WarmerDeps,
  { everyMs = 200, afterMs = 0 }: { readonly everyMs?: number; readonly afterMs?: number } = {},
): { close(): void } => {
  let seen: number | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const throttle = createLogThrottle()

  const look = async (): Promise<void> => {
    try {
      const changes = await proxies.changes()
      if (changes !== seen) {
        await sandbox.warm((await proxies.recentlyUsed(PROXIES)).flatMap(programsOf))
        seen = changes
      }
    } catch (err) {
      const suppressed = closed ? undefined : throttle('warm')
      if (suppressed !== undefined)
        log.warn(
          { err, ...(suppressed > 0 ? { suppressed } : {}) },
          'transforms could not be compiled in advance; each is compiled on its first call',
        )
    }
    if (!closed) timer = setTimeout(look, untilNext(everyMs)).unref()
  }
  timer = setTimeout(look, afterMs).unref()
  return {
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
