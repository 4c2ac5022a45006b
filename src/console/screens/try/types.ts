/** Types of the response to a dry run (docs/guides/dry-runs.md). */

export interface TokenStep {
  readonly id: string
  readonly use: 'allowed' | 'unknown' | 'denied' | 'unresolved'
  readonly type?: string
  readonly disclosure?: string
  readonly surfaces?: readonly string[]
  readonly destination?: { readonly host: string; readonly allowed: boolean; readonly by: string | null }
  readonly decided_by?: {
    readonly permission?: string
    readonly rule?: { readonly description: string; readonly priority: number; readonly container?: string }
  }
}

export interface TransformStep {
  readonly ran: boolean
  readonly reason?: string
  readonly console?: readonly { readonly level: string; readonly text: string }[]
  readonly timing?: { readonly cpu: number; readonly wall: number }
  readonly headers?: Readonly<Record<'added' | 'removed' | 'changed', readonly string[]>>
}

export interface Problem {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
}

export interface Bodies {
  readonly before?: unknown
  readonly after?: unknown
}

export interface DryRun {
  readonly forwards: boolean
  readonly proxy_error?: Problem
  readonly destination: { readonly method: string; readonly url: string; readonly query: readonly string[] }
  readonly acting: { readonly id: string; readonly as: string }
  readonly tokens: readonly TokenStep[]
  readonly request_transform?: TransformStep
  readonly response_transform?: TransformStep
  readonly body: Bodies
  readonly response?: { readonly body: Bodies; readonly proxy_error?: Problem }
  readonly stages: Readonly<Partial<Record<string, number>>>
  readonly notes: readonly string[]
}
