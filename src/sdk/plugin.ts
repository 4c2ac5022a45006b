import type { TSchema } from 'typebox'
import type { Clock } from '../common/clock.ts'
import type { Json } from '../common/json.ts'
import type { Log } from '../common/log.ts'
import type { Secret } from '../common/secret.ts'
import type { ApplicationRef, ApplicationType, Caller, Credential, Grants } from './access.ts'
import type { Code, Program } from './code.ts'
import type { Collection, Mutation, RecordOf, Records } from './collection.ts'
import type { AuditEntry, EntityType, Logs, Usage } from './logs.ts'
import type { Operation } from './operation.ts'
import type { OutboundRequest, OutboundResponse } from './outbound.ts'
import type { TokenType } from './token-type.ts'
import type { Vault } from './vault.ts'

/** A filter of the expression language. Null in, null out is handled outside; throw `AppError('invalid_expression')` when impossible. */
export type Filter = (value: Json, ...args: Json[]) => Json

export interface Tenant {
  readonly id: string
  readonly owner_id: string
  readonly name: string
  readonly settings: {
    readonly fingerprint_tokens?: string
    readonly deduplicate_tokens?: string
    readonly strict_code?: string
    /** On unless it is `false`. */
    readonly grants_within_own?: string
  }
  readonly created_by?: string
  /** ms since the epoch, as the other times of this record. */
  readonly created_at: number
  readonly modified_by?: string
  readonly modified_at?: number
}

export interface Tenants {
  get(id: string): Promise<Tenant | undefined>
}

export interface TenantChange extends Required<Pick<Tenant, 'id' | 'name' | 'modified_by' | 'modified_at'>> {
  /** Absent: those at that moment stay, also when another change comes between. */
  readonly settings?: Tenant['settings']
}

export interface TenantRecords extends Tenants {
  /** The tenant as it is then; undefined when there is none. */
  update(change: TenantChange): Promise<Tenant | undefined>
  /**
   * Destroys the tenant's keys and all that it owns: its API keys stop at once, nothing of it opens any more, and what is
   * left of its rows is removed in the background. False when there is no such tenant.
   */
  delete(id: string): Promise<boolean>
}

/** An application as other plugins see it. */
export interface ApplicationInfo {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly type: ApplicationType
  readonly permissions: readonly string[]
  readonly rules: Grants['rules']
  readonly created_by: string
  /** ms since the epoch, as the other times. */
  readonly created_at: number
  readonly modified_by?: string
  readonly modified_at?: number
  readonly expires_at?: number
}

/** Finds the party behind an API key. */
export interface CredentialSource {
  /** By the key's keyed hash; unknown, deleted and replaced keys are undefined. */
  authenticate(keyHash: string): Promise<Credential | undefined>
  /** Collections whose change counters decide how long an answer may be cached. */
  readonly collections: readonly string[]
}

/** A stored proxy as the gateway runs it (interface, "Pre-configured proxies"). */
export interface StoredProxy {
  readonly id: string
  readonly tenantId: string
  readonly destinationUrl: string
  /** False: whoever has the proxy's key may call it. */
  readonly requireAuth: boolean
  /** Code. */
  readonly requestTransform?: string
  /** Code. */
  readonly responseTransform?: string
  /** What a 2xx response gets whose content type the response transform cannot take; absent: 502. */
  readonly responseOtherwise?: 'fail' | 'pass'
  readonly configuration: Readonly<Record<string, unknown>>
  /** Whom its code, and callers without a key, act as; absent: nobody. */
  readonly applicationId?: string
  /** Absent: no client certificate, and the authorities of the service. */
  readonly destinationTls?: DestinationTls
}

/** What a destination is shown, and by whom its certificate must be signed; PEM, without a fault. */
export interface DestinationTls {
  /** Unique; other certificates have another one. */
  readonly id: string
  readonly client?: { readonly certificate: string; readonly key: Secret<string> }
  /** In the place of the authorities of the service. */
  readonly authorities?: string
}

/** Finds stored proxies. */
export interface ProxySource {
  /** By the proxy key's keyed hash. */
  find(keyHash: string): Promise<StoredProxy | undefined>
  /** The last ones made, of all tenants. */
  newest(limit: number): Promise<readonly StoredProxy[]>
  /** Collections whose change counters decide how long an answer may be cached. */
  readonly collections: readonly string[]
}

export interface PermissionInfo {
  readonly type: string
  readonly description: string
  readonly application_types: readonly ('public' | 'private' | 'management')[]
}

/** What plugins offer to kernel, gateway and each other; each port has at most one provider. */
export interface Ports {
  /** Keys of applications. */
  readonly credentials: CredentialSource & {
    /** Makes the first management application of a tenant. `keyHash` is all that is stored of its key. */
    install(tenantId: string, keyHash: string): Promise<void>
  }
  /** Keys of sessions; asked when `credentials` does not know a key. */
  readonly sessions: CredentialSource
  readonly applications: {
    get(tenantId: string, id: string): Promise<ApplicationInfo | undefined>
    /** Whether the application has this key still. */
    hasKey(tenantId: string, applicationId: string, keyId: string): Promise<boolean>
    /** What the management applications of the tenant hold, all together. */
    held(tenantId: string): Promise<ReadonlySet<string>>
  }
  readonly proxies: ProxySource
  readonly reactors: {
    /** The code of the last reactors made, of all tenants: what is worth keeping ready. */
    programs(limit: number): Promise<readonly Program[]>
  }
  readonly members: {
    /** Makes a member of the user who accepts an invitation, which is then gone; the member's id. */
    join(tenantId: string, invitationId: string, userId: string): Promise<string>
  }
  /** Told of each invitation that was made or sent again, e.g. to mail it. A rejection is logged and changes nothing. */
  readonly invitations: {
    invited(invitation: {
      readonly tenant_id: string
      readonly id: string
      readonly email: string
      readonly role: string
      readonly expires_at: number
    }): Promise<void>
  }
}

/** What the kernel hands to a plugin. Services may be used from `start` on, not inside `setup`. */
export interface PluginContext<Config = unknown> {
  /** This plugin's own configuration, valid by its schema; `{}` when it declares none. */
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly vault: Vault
  readonly tenants: TenantRecords
  readonly logs: Logs
  /**
   * Writes to the audit journal what no operation's declaration says, and resolves when it is there. Rejects with
   * `gateway_timeout` when it cannot be: then nothing may be disclosed.
   */
  audit(entry: AuditEntry): Promise<void>
  /** Counts everything that was recorded before the call. */
  usage(tenantId: string): Promise<Usage>
  /** What other plugins offer; undefined when none provides it. */
  port<P extends keyof Ports>(name: P): Ports[P] | undefined
  /** Throws `invalid_destination` or `destination_not_allowed` when the gateway would not go there. */
  checkDestination(url: string): void
  /** Tenants' code, in the sandbox. */
  readonly code: Code
  /** A request to a party outside, under the rules that hold for proxied ones (completions §7). */
  fetch(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse>
  /** The caller that work for an application is done as; `unauthenticated` when it is gone or expired. */
  identify(application: ApplicationRef): Promise<Caller>
  /** Records of a collection that this plugin declares. */
  records<C extends Collection>(collection: C): Records<RecordOf<C>>
  /** Writes of several collections, all or none. Fails with `conflict` when an id, lookup or version is not free. */
  commit(mutations: readonly Mutation[]): Promise<void>
  /** Keyed hash of an API key: what is stored and looked up in place of the key. */
  hashKey(key: Secret<string>): string
  tokenTypes(): readonly TokenType[]
  /** Every kind of entity that logs are about: token types, and what operations record. */
  entityTypes(): readonly EntityType[]
  /** Every permission that operations of any plugin name, with the application types that may hold it. */
  permissions(): readonly PermissionInfo[]
}

/** What a plugin brings. Checked as a whole with those of all others before anything starts. */
export interface Contribution {
  // biome-ignore lint/suspicious/noExplicitAny: operations of differing schemas meet in one list
  readonly operations?: readonly Operation<any, any>[]
  readonly tokenTypes?: readonly TokenType[]
  readonly filters?: Readonly<Record<string, Filter>>
  readonly collections?: readonly Collection[]
  readonly permissions?: readonly PermissionInfo[]
  readonly ports?: Partial<Ports>
  start?(signal: AbortSignal): Promise<void> | void
  stop?(): Promise<void> | void
  /** Rejects when the plugin cannot do its work; shown in /readyz. */
  health?(): Promise<void>
}

export interface Plugin {
  readonly api: 1
  /** `[a-z][a-z0-9-]*`, unique. */
  readonly name: string
  readonly version: string
  /** Names of plugins that must be present; they start before this one. */
  readonly requires?: readonly string[]
  readonly config?: TSchema
  setup(kernel: PluginContext): Contribution | Promise<Contribution>
}
