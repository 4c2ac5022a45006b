/** Responses that several screens read, as far as they read them. All texts are data. */
import type { GuardMode } from '../kit/guard-modes.ts'

interface EntityReference {
  readonly id: string
  /** Absent: it was deleted. */
  readonly name?: string
}

/** A rule, or a plain permission without its priority, that decided about tokens of a call. */
export interface AppliedRule {
  readonly permission: string
  readonly disclosure: 'none' | 'redact' | 'mask' | 'reveal'
  readonly description?: string
  readonly priority?: number
  readonly container?: string
  readonly tokens: number
}

/** `GET /requests`. */
export interface RequestEntry {
  readonly id: string
  readonly trace_id: string
  /** When it was forwarded, or ended before that, ISO 8601. */
  readonly at: string
  readonly kind: 'proxy' | 'api' | 'connect'
  readonly application?: EntityReference
  readonly method: string
  readonly route: string
  readonly proxy?: EntityReference
  readonly host?: string
  /** `sent`: its end is not known yet. */
  readonly outcome:
    | 'responded'
    | 'sent'
    | 'answered'
    | 'not_sent'
    | 'unknown'
    | 'dry_run'
    | 'opened'
    | 'tunneled'
  /** Whether the destination's response reached the caller to its end. */
  readonly response_complete?: boolean
  /** What the response guard found: `clean`, `replaced=2`, … */
  readonly guard?: string
  readonly status?: number
  readonly destination_status?: number
  readonly code?: string
  readonly duration_ms: number
  readonly stages: Readonly<Record<string, number>>
  readonly tokens: number
  readonly rules: readonly AppliedRule[]
  readonly request_bytes?: number
  readonly response_bytes?: number
  /** Until the last byte of the response. */
  readonly total_ms?: number
  /** Of Envoy: why a response did not come, or broke off. */
  readonly details?: string
  /** Rejected, not sent, outcome unknown, cut off, or a 5xx. */
  readonly failed: boolean
  readonly node: string
}

/** `GET /requests/destinations`. */
export interface Destinations {
  readonly since: string
  /** The host `*`: all others. */
  readonly data: readonly { readonly host: string; readonly calls: number; readonly tokens: number }[]
}

/** `GET /logs`. */
export interface LogEntry {
  readonly id?: string
  readonly tenant_id: string
  readonly actor_id?: string
  readonly actor_type?: string
  readonly entity_type: string
  readonly entity_id: string
  readonly operation: string
  readonly message: string
  readonly created_at: string
  readonly trace_id?: string
  /** Of a token that was read or used; `match`: that a search by data found it. */
  readonly disclosure?: Disclosure | 'match'
  /** Places of a request that the value was put into; for a use only. */
  readonly surfaces?: readonly string[]
  /** Of a check of a plugin. */
  readonly labels?: Readonly<Record<string, string>>
}

export type Disclosure = 'redact' | 'mask' | 'reveal'

/** Where values may be sent (completions §14). */
export interface Destination {
  readonly host: string
  readonly ports?: readonly number[]
  readonly methods?: readonly string[]
  readonly path?: string
  readonly surfaces?: readonly string[]
}

/** A rule of an application or a session. */
export interface Rule {
  readonly description: string
  readonly priority: number
  readonly container: string
  readonly transform: Disclosure
  readonly permissions: readonly string[]
  readonly destinations?: readonly Destination[]
}

export type ApplicationType = 'public' | 'private' | 'management'

export interface Application {
  readonly id: string
  readonly name: string
  readonly type: ApplicationType
  readonly permissions: readonly string[]
  readonly rules: readonly Rule[]
  readonly destinations?: readonly Destination[]
  readonly response_guard?: GuardMode
  readonly allowed_origins?: readonly string[]
  /** The API key, in the response that creates it only. */
  readonly key?: string
  readonly created_by: string
  readonly created_at: string
  readonly modified_by?: string
  readonly modified_at?: string
  readonly expires_at?: string
}

export interface Token {
  readonly id: string
  readonly tenant_id: string
  readonly type: string
  readonly data?: unknown
  readonly mask?: unknown
  readonly metadata?: Readonly<Record<string, string>>
  readonly search_indexes?: readonly string[]
  readonly fingerprint?: string
  readonly fingerprint_expression?: string
  readonly containers?: readonly string[]
  readonly created_by?: string
  readonly created_at: string
  readonly modified_by?: string
  readonly modified_at?: string
  readonly expires_at?: string
}
