/**
 * What responses to code weigh: each is held here, in the process that serves everybody, until its invocation is over. Counted
 * as it arrives, so that many large responses at once are broken off and not gathered.
 */
import { AppError } from '../common/errors.ts'
import { createShares, type Share } from '../common/shares.ts'

const MIB = 1024 * 1024

/** Bytes of responses that one invocation may fetch, and those of all at the same time, which tenants share. */
export interface FetchedLimits {
  readonly invocation: number
  readonly all: number
}

const LIMITS: FetchedLimits = { invocation: 16 * MIB, all: 96 * MIB }

export interface Fetched {
  /**
   * Counts more bytes of a response until `signal` aborts, which ends the invocation. Throws `too_large` beyond the
   * invocation's bound, and as `Shares.take` does.
   */
  take(tenantId: string, signal: AbortSignal, bytes: number): void
  /** All that is counted at the moment. */
  readonly held: number
}

export const createFetched = (limits: FetchedLimits = LIMITS): Fetched => {
  const invocations = new WeakMap<AbortSignal, { readonly share: Share; readonly bytes: number }>()
  const shares = createShares(limits.all, 'Code of this tenant fetches as much as it can. Retry later.')

  return {
    take(tenantId, signal, more) {
      signal.throwIfAborted()
      const own = invocations.get(signal)
      const bytes = (own?.bytes ?? 0) + more
      if (bytes > limits.invocation)
        throw new AppError(
          'too_large',
          `One invocation may fetch ${limits.invocation / MIB} MiB of answers. Ask for less, or in several calls.`,
        )
      const share = own?.share ?? shares.take(bytes, tenantId)
      if (own === undefined) signal.addEventListener('abort', () => share.release(), { once: true })
      else share.resize(bytes)
      invocations.set(signal, { share, bytes })
    },
    get held() {
      return shares.held
    },
  }
}
