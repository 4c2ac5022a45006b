export interface Webhook {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  readonly status: 'enabled' | 'disabled'
  readonly include_metadata: boolean
  readonly failing_since?: string
  readonly created_at: string
  readonly modified_at?: string
  /** In the response that creates or replaces it only. */
  readonly secret?: string
}

export interface Delivery {
  readonly id: string
  readonly event_type: string
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly next_attempt_at?: string
  readonly last_attempt?: { readonly at: string; readonly status?: number; readonly error?: string }
  readonly created_at: string
}
