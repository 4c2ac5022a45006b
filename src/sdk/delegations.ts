/** Keys of a tenant for gateways that hold no other tenant (completions §21). Contains no key. */
export interface Delegation {
  readonly name: string
  readonly tenantId: string
  /** ms since the epoch: of its creation, or of its revocation. */
  readonly at: number
  readonly isRevoked: boolean
  /** Versions of the data key that it opens; none once it is revoked. */
  readonly versions: readonly number[]
}
