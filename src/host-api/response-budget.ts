/**
 * Memory budget of responses to code. The process that serves all tenants holds each response until its invocation
 * ends.
 * Bytes are counted as they arrive, so that many large responses are aborted before they fill the memory.
 */
import { AppError } from '../common/errors.ts'
import { createShares, type Share } from '../common/shares.ts'

const MIB = 1024 * 1024

/** Bytes of responses of one invocation, and of all concurrent ones, which tenants share. */
interface FetchedLimits {
  readonly invocation: number
  readonly all: number
}

const LIMITS: FetchedLimits = { invocation: 16 * MIB, all: 96 * MIB }

interface ResponseBudget {
  /**
   * Counts bytes of a response until `signal` aborts at the end of the invocation. Throws `too_large` above the limit
   * of the invocation, and as `Shares.take` does.
   */
  take(tenantId: string, signal: AbortSignal, bytes: number): void
  /** Bytes counted at present. */
  readonly held: number
}

export const createResponseBudget = (limits: FetchedLimits = LIMITS): ResponseBudget => {
  const invocations = new WeakMap<AbortSignal, { readonly share: Share; readonly bytes: number }>()
  const shares = createShares(
    limits.all,
    'Responses to code of this tenant use all of its share. Retry later.',
  )

  return {
    take(tenantId, signal, more) {
      signal.throwIfAborted()
      const own = invocations.get(signal)
      const bytes = (own?.bytes ?? 0) + more
      if (bytes > limits.invocation)
        throw new AppError(
          'too_large',
          `One invocation may fetch ${limits.invocation / MIB} MiB of responses. Fetch less, or use several calls.`,
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
