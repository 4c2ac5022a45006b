import { AppError } from './errors.ts'

/** Part of a limited resource, until it is released. */
export interface Share {
  /** Changes the amount held. An increase throws as `take` does. No effect after `release`. */
  resize(amount: number): void
  /** Returns the amount. Idempotent. */
  release(): void
}

export interface Shares {
  /**
   * Takes an amount for an owner, a path such as tenant and proxy; without an owner only the limit applies. Throws
   * `rate_limited` when the owner is above its share, `overloaded` when the resource is exhausted.
   */
  take(amount: number, ...owner: readonly string[]): Share
  /** Amount held by all owners. */
  readonly held: number
}

/**
 * Divides a limited resource among its current users: no owner may hold more than what is then left free (dynamic
 * thresholds, Choudhury and Hahne 1998). One owner gets half; n greedy owners get 1/(n + 1) each, and the same amount
 * stays free for the next. The rule also applies among the proxies of a tenant. An owner's first take needs only free
 * space.
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
      throw new AppError('overloaded', 'The service is at capacity. Retry later.', { retryAfter: 1 })
  }

  const add = (amount: number, path: readonly string[]) => {
    total += amount
    for (const key of path) {
      const own = (holdings.get(key) ?? 0) + amount
      if (own > 0) holdings.set(key, own)
      else holdings.delete(key)
    }
  }

  class Holding implements Share {
    readonly #path: readonly string[]
    #held: number | undefined

    constructor(amount: number, path: readonly string[]) {
      this.#path = path
      this.#held = amount
    }

    resize(next: number): void {
      if (this.#held === undefined) return
      if (next > this.#held) check(next - this.#held, this.#path)
      add(next - this.#held, this.#path)
      this.#held = next
    }

    release(): void {
      if (this.#held === undefined) return
      add(-this.#held, this.#path)
      this.#held = undefined
    }
  }

  return {
    take(amount, ...owner) {
      const path = owner.length < 2 ? owner : owner.map((_, at) => owner.slice(0, at + 1).join(' '))
      check(amount, path)
      add(amount, path)
      return new Holding(amount, path)
    },
    get held() {
      return total
    },
  }
}
