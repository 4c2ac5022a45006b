import { AppError } from '../common/errors.ts'

/** Maximum slow bodies of one tenant at a time, and ms after which a body is slow. */
export interface SlowBodyLimits {
  readonly max: number
  readonly afterMs: number
}

const LIMITS: SlowBodyLimits = { max: 64, afterMs: 1_000 }

/** The body of a request, or the message of a gRPC call, that has not arrived completely. */
interface ArrivingBody {
  /** Whether the request was rejected already. */
  isRejected(): boolean
  reject(error: AppError): void
}

/**
 * A request whose body has not arrived holds one of Envoy's connections to this process, or one of their streams with
 * its part of the body. One tenant must not hold them all: beyond its share of slow bodies a further one fails with
 * `request_timeout`. Other bodies have as long as any request has. The returned function is called when the body has
 * arrived, or its request has ended.
 */
export const createSlowBodyLimiter = ({ max, afterMs }: SlowBodyLimits = LIMITS) => {
  const slow = new Map<string, number>()

  return (tenantId: string, body: ArrivingBody): (() => void) => {
    let counted = false
    const timer = setTimeout(() => {
      if (body.isRejected()) return
      const count = slow.get(tenantId) ?? 0
      if (count >= max) {
        const detail = 'This tenant has too many slow request bodies. Send the request again, faster.'
        body.reject(new AppError('request_timeout', detail))
        return
      }
      counted = true
      slow.set(tenantId, count + 1)
    }, afterMs)
    return () => {
      clearTimeout(timer)
      if (!counted) return
      counted = false
      const left = (slow.get(tenantId) ?? 1) - 1
      if (left === 0) slow.delete(tenantId)
      else slow.set(tenantId, left)
    }
  }
}
