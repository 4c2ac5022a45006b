import { AppError } from '../common/errors.ts'
import type { Share, Shares } from '../common/shares.ts'
import { CALL_BYTES, GUARDED_CALL_BYTES } from '../control-plane/limits.ts'

/**
 * Bytes that a body of unknown length counts for at first, and ms after which it counts for twice as much, up to the
 * limit. Most have few and come at once: counting each for the limit would reject a hundred small ones.
 */
const UNKNOWN_BYTES = 1024 * 1024
const GROWS_MS = 500

export const SLOW_RESPONSE =
  "The destination's response was not complete in time, and its transform needs it complete. The destination received the request."

/** Envoy's memory that one call holds, and the wait for a body in it. */
export class HeldMemory {
  readonly #shares: Shares
  readonly #limit: number
  #share: Share | undefined
  /** Bytes of the call itself. */
  #callBytes = CALL_BYTES
  #growing: NodeJS.Timeout | undefined
  #deadline: NodeJS.Timeout | undefined
  #isReleased = false
  #rejected: PromiseWithResolvers<unknown> | undefined

  /** `limit`: bytes of a body. */
  constructor(shares: Shares, limit: number) {
    this.#shares = shares
    this.#limit = limit
  }

  /** Resolves with the error that rejects the awaited body. Undefined: no limit applies. */
  get rejected(): Promise<unknown> | undefined {
    return this.#rejected?.promise
  }

  /** `length`: bytes of the body, as announced. Throws `rate_limited` when the owner has its share. */
  take(owner: string, length: number | undefined, isGuarded = false): void {
    if (this.#isReleased) return
    if (isGuarded) this.#callBytes = GUARDED_CALL_BYTES
    this.#share = this.#shares.take(this.#callBytes + (length ?? UNKNOWN_BYTES), owner)
  }

  /** Throws `rate_limited` when the owner has its share. */
  resize(length: number | undefined): void {
    if (!this.#isReleased) this.#share?.resize(this.#callBytes + (length ?? UNKNOWN_BYTES))
  }

  /** Waits for a body of this length, for `ms` at most. */
  wait(length: number | undefined, ms?: number): void {
    if (this.#isReleased || (length !== undefined && ms === undefined)) return
    this.#rejected = Promise.withResolvers()
    if (length === undefined) this.#grow(UNKNOWN_BYTES)
    if (ms === undefined) return
    const late = () => this.#reject(new AppError('destination_timeout', SLOW_RESPONSE))
    this.#deadline = setTimeout(late, ms)
  }

  /** The body has come. */
  stopWaiting(): void {
    clearTimeout(this.#growing)
    clearTimeout(this.#deadline)
    this.#rejected = undefined
  }

  release(): void {
    this.#isReleased = true
    this.stopWaiting()
    this.#share?.release()
  }

  /**
   * The stream of the call is over. Undefined: all is released. Of a guarded call, Envoy may hold the rest of the
   * response for a slow reader, for which the share remains until this is called.
   */
  outlive(): (() => void) | undefined {
    if (this.#isReleased || this.#callBytes === CALL_BYTES) return void this.release()
    this.resize(0)
    this.stopWaiting()
    this.#isReleased = true
    return () => this.#share?.release()
  }

  #grow(bytes: number): void {
    if (bytes >= this.#limit) return
    this.#growing = setTimeout(() => {
      const more = Math.min(2 * bytes, this.#limit)
      try {
        this.resize(more)
        this.#grow(more)
      } catch (thrown) {
        this.#reject(thrown)
      }
    }, GROWS_MS)
  }

  #reject(thrown: unknown): void {
    const waiting = this.#rejected
    this.stopWaiting()
    waiting?.resolve(thrown)
  }
}
