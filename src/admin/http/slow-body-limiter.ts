import type { IncomingMessage } from 'node:http'
import { AppError } from '../../common/errors.ts'

/** Of what a tenant sends, so many bodies may be late at a time; a body is late after so many ms. */
export interface SlowBodyLimits {
  readonly most: number
  readonly afterMs: number
}

const LIMITS: SlowBodyLimits = { most: 64, afterMs: 1_000 }

/**
 * Each request whose body is still to come holds one of the connections that Envoy has to this process, 1,024 in all: those of one
 * tenant are not to hold up the others. The request that is late when enough of its tenant are is failed with
 * `request_timeout`; others have as long as any request has.
 */
export const createSlowBodyLimiter = ({ most, afterMs }: SlowBodyLimits = LIMITS) => {
  const late = new Map<string, number>()

  return (tenantId: string, request: IncomingMessage): void => {
    if (request.complete) return
    let counted = false
    const timer = setTimeout(() => {
      // Nobody reads a body that was refused already, and nobody would hear of it.
      if (request.listenerCount('error') === 0) return
      const count = late.get(tenantId) ?? 0
      if (count >= most) {
        const detail = 'Many bodies of this tenant are late, and this is one more. Send it again, faster.'
        request.emit('error', new AppError('request_timeout', detail))
        return
      }
      counted = true
      late.set(tenantId, count + 1)
    }, afterMs)
    request.once('close', () => {
      clearTimeout(timer)
      if (!counted) return
      const left = (late.get(tenantId) ?? 1) - 1
      if (left === 0) late.delete(tenantId)
      else late.set(tenantId, left)
    })
  }
}
