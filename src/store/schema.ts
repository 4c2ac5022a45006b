import type { Generated } from 'kysely'
import type { LoggedDisclosure } from '../sdk/index.ts'

/** Tables of both engines: times in ms since the epoch, JSON as text, bytes as blobs (bytea). */
export interface Schema {
  tenants: TenantsTable
  tenant_keys: TenantKeysTable
  tokens: TokensTable
  token_terms: { tenant_id: string; term: Uint8Array; seq: number }
  token_metadata: { tenant_id: string; key: string; value: string; seq: number }
  token_counts: TokenCountsTable
  records: RecordsTable
  record_indexes: { collection: string; tenant_id: string; member: string; value: string; seq: number }
  record_lookups: { collection: string; member: string; value: string; seq: number }
  record_macs: { seq: number; tenant_id: string; mac: Uint8Array }
  tenant_macs: { tenant_id: string; mac: Uint8Array }
  changes: { kind: string; version: number }
  logs: LogsTable
  token_associations: { parent_seq: number; child_seq: number; tenant_id: string }
  active_tokens: { month: number; tenant_id: string; seq: number }
  active_counts: { tenant_id: string; month: number; count: number }
  idempotency_keys: IdempotencyKeysTable
  idempotency_key_tokens: { tenant_id: string; token_id: string; key: Uint8Array }
  deleted_tenants: { id: string; deleted_at: number; emptied_at: number | null }
  journal_positions: { journal: string; seq: number; hash: string }
  plugin_tasks: PluginTasksTable
  schema_migrations: { version: number; name: string; applied_at: number }
}

interface TenantsTable {
  id: string
  owner_id: string
  name: string
  settings: string
  created_by: string | null
  created_at: number
  modified_by: string | null
  modified_at: number | null
  /** 1: the tenant has, or had, tokens that are `egress_only`. Not sealed: without it, their use fails. */
  has_egress_only: 1 | null
}

interface TenantKeysTable {
  tenant_id: string
  purpose: string
  version: number
  wrapped: Uint8Array
  created_at: number
}

export interface TokensTable {
  seq: Generated<number>
  tenant_id: string
  id: string
  type: string
  container: string
  sealed: Uint8Array
  ephemeral: Uint8Array | null
  ephemeral_until: number | null
  version: number
  metadata: string | null
  fingerprint: string | null
  /** JSON of `EgressLimits`; null: none. */
  egress: string | null
  /** 1: the token has a mask of its own; null: its type's, if any. */
  masked: 1 | null
  expires_at: number | null
  created_by: string
  created_at: number
  modified_by: string | null
  modified_at: number | null
}

/** Token rows for each container and type of a tenant, expired but unpurged ones included. */
interface TokenCountsTable {
  tenant_id: string
  container: string
  type: string
  count: number
  last_created_at: number
}

interface RecordsTable {
  seq: Generated<number>
  collection: string
  tenant_id: string
  id: string
  version: number
  /** The member `name` of the body in lower case, for wildcard lists. */
  name: string | null
  body: string
  created_at: number
  /** Time of its purge; null: never. */
  expires_at: number | null
}

/**
 * `sealed` is null while `holder` is running. `shown` is the response with its token data, null once one of the tokens
 * was changed or deleted; not to be read from `shown_until` on.
 */
export interface IdempotencyKeysTable {
  tenant_id: string
  key: Uint8Array
  operation: string
  holder: string
  sealed: Uint8Array | null
  /** Process of the lease's holder. */
  process: string
  /** End of the holder's lease. */
  running_until: number
  /** Same while nothing was written under it. */
  expires_at: number
  shown: Uint8Array | null
  shown_until: number | null
}

interface LogsTable {
  seq: Generated<number>
  tenant_id: string
  entity_type: string
  entity_id: string
  operation: string
  actor_id: string | null
  actor_type: string | null
  message: string
  trace_id: string
  created_at: number
  journal: string
  journal_seq: number
  hash: string
  token_seq: number | null
  surfaces: string | null
  disclosure: LoggedDisclosure | null
  labels: string | null
}

/** A consumer or job of a plugin, while the plugin is installed and for some time afterwards. */
interface PluginTasksTable {
  kind: 'consumer' | 'job'
  /** `<plugin>/<name>`. */
  name: string
  /** Grows with each lease: a write under an earlier one has no effect. */
  lease_number: number
  /** Process of the current lease; null: it was released. */
  holder: string | null
  /** 0: there is no lease. */
  leased_until: number
  /** When a process last had the plugin. */
  present_at: number
  /** `seq` of the last log that the consumer has handled; 0 for jobs. */
  position: number
  /** Start of the last run; null: there was none. */
  started_at: number | null
  /** ms; null while the run lasts, and when its process was killed. */
  duration: number | null
  /** Null as `duration`. */
  outcome: 'ok' | 'failed' | 'timeout' | 'interrupted' | null
}
