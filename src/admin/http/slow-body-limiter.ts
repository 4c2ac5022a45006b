import type { IncomingMessage } from 'node:http'
import { AppError } from '../../common/errors.ts'

/** Most slow bodies of one tenant at a time, and ms after which a body is slow. */
export interface SlowBodyLimits {
  readonly most: number
  readonly afterMs: number
}

const LIMITS: SlowBodyLimits = { most: 64, afterMs: 1_000 }

/**
 * A request whose body has not arrived holds one of Envoy's 1,024 connections to this process. One tenant must not hold
 * them all: beyond its share of slow bodies a further one fails with `request_timeout`. Other bodies have as long as any
 * request has.
 */
export const createSlowBodyLimiter = ({ most, afterMs }: SlowBodyLimits = LIMITS) => {
  const slow = new Map<string, number>()

  return (tenantId: string, request: IncomingMessage): void => {
    if (request.complete) return
    let counted = false
    const timer = setTimeout(() => {
      // The request was rejected already.
      if (request.listenerCount('error') === 0) return
      const count = slow.get(tenantId) ?? 0
      if (count >= most) {
        const detail = 'This tenant has too many slow request bodies. Send the request again, faster.'
        request.emit('error', new AppError('request_timeout', detail))
        return
      }
      counted = true
      slow.set(tenantId, count + 1)
    }, afterMs)
    request.once('close', () => {
      clearTimeout(timer)
      if (!counted) return
      const left = (slow.get(tenantId) ?? 1) - 1
      if (left === 0) slow.delete(tenantId)
      else slow.set(tenantId, left)
    })
  }
}
