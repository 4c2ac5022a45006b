import type { FastifyReply } from 'fastify'
import type { LimitStatus } from '../../common/rate-limiter.ts'

const append = (reply: FastifyReply, name: string, item: string): void => {
  const items = reply.getHeader(name)
  reply.header(name, items === undefined ? item : `${items}, ${item}`)
}

/** Adds limits to `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11). */
export const addRateLimits = (reply: FastifyReply, limits: readonly LimitStatus[]): void => {
  for (const { policy, perMinute, remaining, seconds } of limits) {
    append(reply, 'ratelimit-policy', `"${policy}";q=${perMinute};w=60`)
    append(reply, 'ratelimit', `"${policy}";r=${remaining};t=${seconds}`)
  }
}
