import { AppError } from './errors.ts'

/** Some of a limited resource, until it is given back. */
export interface Share {
  /** Holds this much instead. Throws as `take` does when that is more. Does nothing once it is given back. */
  resize(amount: number): void
  /** Gives it back, once. */
  release(): void
}

export interface Shares {
  /**
   * Takes some for an owner, named by a path such as tenant and proxy; without one only the limit counts. Throws
   * `rate_limited` when the owner holds its share already, `overloaded` when others hold everything.
   */
  take(amount: number, ...owner: readonly string[]): Share
  /** Held by all owners. */
  readonly held: number
}

/**
 * Divides a limited resource among whoever uses it at the moment: nobody may hold more than what is then left of it
 * (dynamic thresholds, Choudhury and Hahne 1998). One owner gets half, n greedy ones 1/(n + 1) each, and as much stays
 * free for the next; likewise among the proxies of a tenant. The first of an owner always fits where there is room.
 */
export const createShares = (limit: number, detail: string): Shares => {
  const holdings = new Map<string, number>()
  let total = 0

  const check = (amount: number, path: readonly string[]) => {
    let most = limit
    let around = total
    for (const key of path) {
      const own = holdings.get(key) ?? 0
      most = (most - (around - own)) / 2
      around = own
      if (own > 0 && own + amount > most) throw new AppError('rate_limited', detail, { retryAfter: 1 })
    }
    if (total + amount > limit)
      throw new AppError('overloaded', 'The service is at its limit. Retry later.', { retryAfter: 1 })
  }

  const add = (amount: number, path: readonly string[]) => {
    total += amount
    for (const key of path) {
      const own = (holdings.get(key) ?? 0) + amount
      if (own > 0) holdings.set(key, own)
      else holdings.delete(key)
    }
  }

  return {
    take(amount, ...owner) {
      const path = owner.map((_, at) => owner.slice(0, at + 1).join(' '))
      let held: number | undefined = amount
      check(amount, path)
      add(amount, path)
      return {
        resize(next) {
          if (held === undefined) return
          if (next > held) check(next - held, path)
          add(next - held, path)
          held = next
        },
        release() {
          add(-(held ?? 0), path)
          held = undefined
        },
      }
    },
    get held() {
      return total
    },
  }
}
