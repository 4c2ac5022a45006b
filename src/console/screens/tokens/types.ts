import type { Destination, Disclosure, Token } from '../../api/types.ts'

/** A token as its own page shows it. */
export interface TokenDetail extends Token {
  /** Disclosure that the key has without `MASKED`. */
  readonly disclosure?: Disclosure
  readonly egress_only?: boolean
  readonly destinations?: readonly Destination[]
}

/** Query of every call of this screen but that of *Reveal*: no response holds more than a mask. */
export const MASK_ONLY = { disclosure: 'mask' } as const
