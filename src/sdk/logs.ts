import type { Caller, Disclosure } from './access.ts'
import type { PageRequest } from './vault.ts'

/** Disclosure of a token by a call. `match`: that a search by `data` finds it, and nothing else. */
export type LoggedDisclosure = Disclosure | 'match'

/** An event of an entity of a tenant; `created_at` in ms since the epoch. */
export interface LogEntry {
  /** Unique in the store; grows in the order in which the store got the records. A safe integer. */
  readonly position: number
  readonly tenant_id: string
  readonly actor_id: string | null
  readonly actor_type: string | null
  readonly entity_type: string
  readonly entity_id: string
  readonly operation: string
  readonly message: string
  readonly created_at: number
  readonly trace_id: string
  /** Of a token that was read or used. Absent where it is not known, e.g. in records of earlier versions. */
  readonly disclosure?: LoggedDisclosure
  /** Where in a proxied request a used token was put (`Surface`). */
  readonly surfaces?: readonly string[]
  /** Of a record of a check: the labels that it gave the call. */
  readonly labels?: Readonly<Record<string, string>>
}

/** An event for the audit journal: an operation on an entity. */
export interface AuditEvent {
  readonly entity: string
  /** `''` when the entity has none, or none that may be written. */
  readonly id: string
  readonly operation: string
  readonly message: string
}

/** On whose behalf an event happens. A `Call` is one. */
export interface AuditOrigin {
  readonly caller: Pick<Caller, 'tenantId' | 'actorId'> & { readonly actorType: string }
  readonly traceId: string
}

export interface LogFilter {
  readonly entityType?: string
  readonly entityId?: string
  readonly actorId?: string
  readonly operation?: string
  /** `created_at` ≥ `from` and < `to`, ms since the epoch. */
  readonly from?: number
  readonly to?: number
}

export interface LogPage {
  readonly data: readonly LogEntry[]
  /** Total count; only in offset lists. */
  readonly total?: number | undefined
  /** Cursor of the next page, in both kinds of list; absent at the end. */
  readonly next?: string
}

/** The audit log of tenants. A read includes all records that were written before it. */
export interface Logs {
  /** Newest first; sizes 1–1000. `invalid` for a cursor that is not this tenant's. */
  list(tenantId: string, filter: LogFilter, page: PageRequest): Promise<LogPage>
}

/** A type of entity in logs. */
export interface EntityType {
  readonly display_name: string
  readonly value: string
}

/** Usage of a tenant; times in ms since the epoch. */
export interface Usage {
  /** Live tokens by type; types without any are left out. */
  readonly types: readonly {
    readonly type: string
    readonly count: number
    readonly last_created_at: number
  }[]
  /** Distinct tokens created, read or used since the first of the month (UTC). */
  readonly active: number
}
