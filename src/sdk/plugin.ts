import type { TSchema } from 'typebox'
import type { Clock } from '../common/clock.ts'
import type { CountDestinations } from '../common/destination-counts.ts'
import type { Json } from '../common/json.ts'
import type { Log } from '../common/log.ts'
import type { ListRequests } from '../common/request-ring.ts'
import type { Secret } from '../common/secret.ts'
import type { ApplicationRef, ApplicationType, Caller, Credential, Grants, GuardMode } from './access.ts'
import type { Check } from './checks.ts'
import type { Code, Program } from './code.ts'
import type { Collection, Mutation, RecordOf, Records } from './collection.ts'
import type { Consumer } from './consumers.ts'
import type { Delegation } from './delegations.ts'
import type { Job } from './jobs.ts'
import type { AuditEvent, AuditOrigin, EntityType, Logs, Usage } from './logs.ts'
import type { AuditDeclaration, Operation } from './operation.ts'
import type { OutboundRequest, OutboundResponse } from './outbound.ts'
import type { PortDeclaration } from './ports.ts'
import type { Surface } from './surfaces.ts'
import type { TokenType } from './token-type.ts'
import type { Vault } from './vault.ts'

/**
 * A filter of the expression language. Null in, null out is handled outside; throw `AppError('invalid_expression')`
 * when impossible.
 */
export type Filter = (value: Json, ...args: Json[]) => Json

export interface Tenant {
  readonly id: string
  readonly owner_id: string
  readonly name: string
  readonly settings: {
    readonly fingerprint_tokens?: string
    readonly deduplicate_tokens?: string
    readonly strict_code?: string
    /** On unless `false`. */
    readonly grants_within_own?: string
    /** `tunnel`: the forward proxy passes tunnels to unbound hosts on unopened; else they are denied. */
    readonly unbound_destinations?: string
    /** A `GuardMode`. */
    readonly response_guard?: string
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
  /** Absent: the current settings stay. */
  readonly settings?: Tenant['settings']
}

export interface TenantRecords extends Tenants {
  /** All tenants that exist, oldest first. */
  all(): AsyncIterable<Tenant>
  /** The changed tenant; undefined when it does not exist. */
  update(change: TenantChange): Promise<Tenant | undefined>
  /**
   * Destroys the tenant's keys and all that it owns. Its API keys stop at once, and none of its values can be opened.
   * Its rows are removed in the background. False when the tenant does not exist.
   */
  delete(id: string): Promise<boolean>
}

/** An application, for other plugins. */
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
}

/** Finds the owner of an API key. */
export interface CredentialSource {
  /** Finds the owner of a key by its keyed hash. Undefined for unknown, deleted and replaced keys. */
  authenticate(keyHash: string): Promise<Credential | undefined>
  /** Collections whose change counters invalidate cached results. */
  readonly collections: readonly string[]
}

/** Requests that a stored proxy intercepts in the forward proxy (completions §15). */
export interface Interception {
  /** Without brackets and final dot. */
  readonly host: string
  readonly port: number
  /** Normalized prefix without a trailing slash, compared by segments; '' for the whole host. */
  readonly path: string
}

/** A stored proxy for the gateway (interface, "Pre-configured proxies"). */
export interface StoredProxy {
  readonly id: string
  readonly tenantId: string
  readonly name?: string
  readonly destinationUrl: string
  /** False: the proxy's key alone admits a caller. */
  readonly requireAuth: boolean
  /** Code. */
  readonly requestTransform?: string
  /** Code. */
  readonly responseTransform?: string
  /** Handling of a 2xx response whose content type the response transform cannot read; absent: 502. */
  readonly responseOtherwise?: 'fail' | 'pass'
  readonly configuration: Readonly<Record<string, unknown>>
  /** The application that its code, and callers without a key, act as; absent: none. */
  readonly applicationId?: string
  /** Absent: its key alone leads to it. */
  readonly intercept?: Interception
  /** Absent: no client certificate, and the service's authorities. */
  readonly destinationTls?: DestinationTls
  /** Surfaces of its requests that are evaluated; absent: the body. */
  readonly evaluate?: readonly Surface[]
  /** Absent: none is set. */
  readonly responseGuard?: GuardMode
}

/** The client certificate for a destination, and the authorities for the destination's certificate; valid PEM. */
export interface DestinationTls {
  /** Unique for these certificates. */
  readonly id: string
  readonly client?: { readonly certificate: string; readonly key: Secret<string> }
  /** Replaces the service's authorities. */
  readonly authorities?: string
}

/** A proxy or reactor that acts as an application. */
export interface ActsAs {
  readonly id: string
  readonly name: string
  readonly applicationId: string
  /** True when the code of the proxy or reactor calls the API as the application. */
  readonly code: boolean
  /** True when anonymous callers of the proxy use tokens as the application, and no code reads the values. */
  readonly anonymous: boolean
}

/** Finds stored proxies. */
export interface ProxySource {
  /** Finds a proxy by its key's keyed hash. */
  find(keyHash: string): Promise<StoredProxy | undefined>
  /** Proxies of the tenant that intercept requests to the host. */
  intercepting(tenantId: string, host: string): Promise<readonly StoredProxy[]>
  /** The newest of all tenants. */
  newest(limit: number): Promise<readonly StoredProxy[]>
  nameOf(tenantId: string, id: string): Promise<string | undefined>
  /** Proxies of the tenant that act as one of these applications, newest first. */
  actingAs(tenantId: string, applicationIds: readonly string[]): AsyncIterable<ActsAs>
  /** Collections whose change counters invalidate cached results. */
  readonly collections: readonly string[]
}

export interface PermissionInfo {
  readonly type: string
  readonly description: string
  readonly application_types: readonly ('public' | 'private' | 'management')[]
}

/** Keys for one run of a command (`sidevault run`), which end by themselves unless they are renewed. */
export interface RunKeys {
  /** Undefined: no private application of the tenant has this id. `endsInMs`: from now, and from each renewal. */
  create(
    tenantId: string,
    applicationId: string,
  ): Promise<{ readonly id: string; readonly key: Secret<string>; readonly endsInMs: number } | undefined>
  /** Rejects with `key_not_found` when it has ended. */
  renew(tenantId: string, id: string): Promise<void>
  delete(tenantId: string, id: string): Promise<void>
}

/** A session of the console, and the callers that its calls go out as. Times in ms since the epoch. */
export interface ConsoleSession {
  readonly tenantId: string
  readonly id: string
  /** The application that its audit records name. */
  readonly actorId: string
  /**
   * Credentials of the session's existing keys: at most one of a management and one of a private application, in this
   * order.
   */
  readonly credentials: readonly Credential[]
  /** A call from then on writes that the session is in use. */
  readonly renewsAt: number
  readonly idleExpiresAt: number
  readonly expiresAt: number
}

/** Sessions of people who signed in to the console (completions §16). */
export interface ConsoleSessions {
  /** Finds a session by the keyed hash of its cookie's secret. Ended sessions are returned until they are removed. */
  find(secretHash: string): Promise<ConsoleSession | undefined>
  /** Collections whose change counters invalidate cached results. */
  readonly collections: readonly string[]
  /**
   * A new session with the caller's key, and a secret that no other had. `former`, which ends, leaves it the key of the
   * other type. `forbidden` for callers other than management and private applications.
   */
  signIn(caller: Caller, former: ConsoleSession | undefined, traceId: string): Promise<Secret<string>>
  /** Writes that the session is in use. Never rejects. */
  renew(session: ConsoleSession): Promise<void>
  /** Deletes it, with an audit record; nothing when it does not exist. */
  end(session: ConsoleSession, why: string, traceId: string): Promise<void>
}

/**
 * Interfaces that plugins provide to kernel, gateway and each other; each port has at most one provider. These are the
 * built-in ones; plugins add those that they open (`PortDeclaration`).
 */
export interface Ports {
  /** Keys of applications. */
  readonly credentials: CredentialSource & {
    /** Creates the first management application of a tenant. Its key is stored as `keyHash` only. */
    install(tenantId: string, keyHash: string): Promise<void>
  }
  /** Keys of sessions; called when `credentials` does not find a key. */
  readonly sessions: CredentialSource & {
    /**
     * Authorized sessions of the tenant whose grants satisfy `where`, newest first; those that have ended are left out.
     */
    authorized(tenantId: string, now: number, where: (grants: Grants) => boolean): AsyncIterable<Credential>
  }
  readonly applications: {
    get(tenantId: string, id: string): Promise<ApplicationInfo | undefined>
    /**
     * The application as a caller: what sessions, code and anonymous callers of its proxies depend on. With `keyId`: as
     * a call with this key, undefined without such a key.
     */
    credential(tenantId: string, id: string, keyId?: string): Promise<Credential | undefined>
    /** The union of the permissions of the tenant's management applications. */
    managementPermissions(tenantId: string): Promise<ReadonlySet<string>>
    readonly runKeys: RunKeys
  }
  readonly console: ConsoleSessions
  readonly proxies: ProxySource
  readonly reactors: {
    /** The code of the newest reactors of all tenants, to warm caches. */
    programs(limit: number): Promise<readonly Program[]>
    /** Reactors of the tenant that act as one of these applications, newest first. */
    actingAs(tenantId: string, applicationIds: readonly string[]): AsyncIterable<ActsAs>
  }
  readonly members: {
    /** Makes a user who accepts an invitation a member, deletes the invitation, and returns the member's id. */
    acceptInvitation(tenantId: string, invitationId: string, userId: string): Promise<string>
  }
  /**
   * Called for each invitation that is created or resent, e.g. to mail it. A rejection is logged and has no other
   * effect.
   */
  readonly invitations: {
    onInvited(invitation: {
      readonly tenant_id: string
      readonly id: string
      readonly email: string
      readonly role: string
      readonly expires_at: number
    }): Promise<void>
  }
}

/** The kernel's services for a plugin. They may be used from `start` on, not inside `setup`. */
export interface PluginContext<Config = unknown> {
  /** This plugin's own configuration, valid by its schema; `{}` when it declares none. */
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly vault: Vault
  readonly tenants: TenantRecords
  readonly logs: Logs
  /**
   * Appends an audit record besides those of operations, and resolves when it is in the journal. Rejects with
   * `gateway_timeout` when it cannot be written: then nothing may be disclosed.
   */
  audit(event: AuditEvent, origin: AuditOrigin): Promise<void>
  /** Includes all that was recorded before the call. */
  usage(tenantId: string): Promise<Usage>
  /** Delegations of a tenant's keys, revoked ones included, by name. */
  delegations(tenantId: string): Promise<readonly Delegation[]>
  /** The newest calls of a tenant to the processes of this node, newest first. */
  readonly requests: ListRequests
  /** Where values of a tenant's tokens went from this node in the last 24 hours. */
  readonly destinations: CountDestinations
  /** A port of another plugin; undefined when none provides it. */
  port<P extends keyof Ports>(name: P): Ports[P] | undefined
  /** Throws `invalid_destination` or `destination_not_allowed` when the gateway would reject the URL. */
  checkDestination(url: string): void
  /** Header prefixes of the service, the canonical one first. */
  readonly headerPrefixes: readonly string[]
  /** Runs tenants' code in the sandbox. */
  readonly code: Code
  /** Sends a request to an external server, under the egress rules of proxied requests (completions §7). */
  fetch(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse>
  /**
   * The caller for work that acts as an application; rejects with `unauthenticated` when it was deleted or has expired.
   */
  identify(application: ApplicationRef): Promise<Caller>
  /** Records of a collection that this plugin declares. */
  records<C extends Collection>(collection: C): Records<RecordOf<C>>
  /**
   * Writes of several collections, all or none. Rejects with `conflict` when an id or lookup exists, or a version is
   * stale.
   */
  commit(mutations: readonly Mutation[]): Promise<void>
  /** Keyed hash of an API key, which is stored and looked up in place of the key. */
  hashKey(key: Secret<string>): string
  tokenTypes(): readonly TokenType[]
  /** All entity types of logs: token types, and entities of operations. */
  entityTypes(): readonly EntityType[]
  /** What operations of all plugins declare about their audit records. */
  auditDeclarations(): readonly Pick<AuditDeclaration, 'entity' | 'verb'>[]
  /** All permissions of all plugins' operations, with the application types that may hold them. */
  permissions(): readonly PermissionInfo[]
}

/** A plugin's declarations. They are checked together with those of all other plugins before anything starts. */
export interface Contribution {
  // biome-ignore lint/suspicious/noExplicitAny: operations of differing schemas meet in one list
  readonly operations?: readonly Operation<any, any>[]
  readonly tokenTypes?: readonly TokenType[]
  readonly filters?: Readonly<Record<string, Filter>>
  readonly collections?: readonly Collection[]
  readonly permissions?: readonly PermissionInfo[]
  /** Entities of audit records that no operation names. */
  readonly entities?: readonly string[]
  /** Ports that other plugins may provide. */
  readonly openPorts?: readonly PortDeclaration[]
  /** Ports that this plugin provides. */
  readonly ports?: Partial<Ports>
  readonly checks?: readonly Check[]
  readonly consumers?: readonly Consumer[]
  readonly jobs?: readonly Job[]
  start?(signal: AbortSignal): Promise<void> | void
  stop?(): Promise<void> | void
  /** Rejects when the plugin does not work; reported in /readyz. */
  health?(): Promise<void>
}

export interface Plugin {
  readonly api: 1
  /** `[a-z][a-z0-9-]*`, unique. */
  readonly name: string
  readonly version: string
  /** Names of required plugins; they start before this one. */
  readonly requires?: readonly string[]
  readonly config?: TSchema
  setup(context: PluginContext): Contribution | Promise<Contribution>
}
