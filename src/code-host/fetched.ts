/**
 * What answers to code weigh: each is held here, in the process that serves everybody, until its invocation is over. Counted
 * as it arrives, so that many large answers at once are broken off and not gathered.
 */
import { AppError } from '../common/errors.ts'

const MIB = 1024 * 1024

/** Bytes of answers that one invocation may fetch, those of a tenant at the same time, and all of them. */
export interface FetchedLimits {
  readonly invocation: number
  readonly tenant: number
  readonly all: number
}

const LIMITS: FetchedLimits = { invocation: 16 * MIB, tenant: 32 * MIB, all: 96 * MIB }

export interface Fetched {
  /**
   * Counts more bytes of an answer until `signal` aborts, which ends the invocation. Throws `too_large` beyond the
   * invocation's bound, `overloaded` beyond the others.
   */
  take(tenantId: string, signal: AbortSignal, bytes: number): void
  /** All that is counted at the moment. */
  readonly held: number
}

export const createFetched = (limits: FetchedLimits = LIMITS): Fetched => {
  const invocations = new WeakMap<AbortSignal, number>()
  const tenants = new Map<string, number>()
  let held = 0

  const release = (tenantId: string, signal: AbortSignal) => {
    const bytes = invocations.get(signal) ?? 0
    const left = (tenants.get(tenantId) ?? 0) - bytes
    if (left > 0) tenants.set(tenantId, left)
    else tenants.delete(tenantId)
    held -= bytes
  }

  return {
    take(tenantId, signal, bytes) {
      signal.throwIfAborted()
      const own = invocations.get(signal)
      if ((own ?? 0) + bytes > limits.invocation)
        throw new AppError(
          'too_large',
          `One invocation may fetch ${limits.invocation / MIB} MiB of answers. Ask for less, or in several calls.`,
        )
      if ((tenants.get(tenantId) ?? 0) + bytes > limits.tenant || held + bytes > limits.all)
        throw new AppError('overloaded', 'Code fetches as much as it can at the moment. Try again later.', {
          retryAfter: 1,
        })
      if (own === undefined) signal.addEventListener('abort', () => release(tenantId, signal), { once: true })
      invocations.set(signal, (own ?? 0) + bytes)
      tenants.set(tenantId, (tenants.get(tenantId) ?? 0) + bytes)
      held += bytes
    },
    get held() {
      return held
    },
  }
}
