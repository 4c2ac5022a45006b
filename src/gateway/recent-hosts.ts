/** Names that tenants make Envoy look up: its cache of them has a limit, which they share. */
import { createShares, type Share } from '../common/shares.ts'

export interface RecentHosts {
  /** Counts a host for its owner while Envoy may keep it. Throws `rate_limited` beyond the owner's share. */
  use(owner: string, host: string): void
}

/** Envoy forgets a host a minute after its last use (`host_ttl`); here it counts for one minute to two. */
const TURN_MS = 60_000

export const createRecentHosts = (limit: number, now: () => number): RecentHosts => {
  const shares = createShares(
    limit,
    'The tenant has called as many hosts as it may in a minute. Retry later.',
  )
  let recent = new Map<string, Share>()
  let before = new Map<string, Share>()
  let turned = now()

  const turn = () => {
    for (const share of before.values()) share.release()
    before = recent
    recent = new Map()
    turned = now()
  }

  return {
    use(owner, host) {
      if (Math.abs(now() - turned) >= TURN_MS) turn()
      const key = `${owner} ${host}`
      if (recent.has(key)) return
      recent.set(key, before.get(key) ?? shares.take(1, owner))
      before.delete(key)
    },
  }
}
