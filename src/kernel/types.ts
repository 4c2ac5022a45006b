import type { DestinationCounts } from '../common/destination-counts.ts'
import type { Eventual } from '../common/eventual.ts'
import type { Log } from '../common/log.ts'
import type { AppliedRule, ListRequests } from '../common/request-ring.ts'
import type { Expressions } from '../expressions/types.ts'
import type {
  ApplicationRef,
  Caller,
  Check,
  Code,
  CodeScope,
  ConsoleSession,
  Consumer,
  Contribution,
  EntityType,
  GuardMode,
  Job,
  Operation,
  PermissionInfo,
  Plugin,
  Ports,
  StoredProxy,
  Tenants,
  TokenType,
  UsedTokens,
  Vault,
  WithHealth,
} from '../sdk/index.ts'

/** A loaded plugin with its declarations. */
export interface LoadedPlugin {
  readonly plugin: Plugin
  readonly contribution: Contribution
}

/** A check of proxied calls, and the plugin that declares it. */
export interface PluginCheck {
  readonly plugin: string
  readonly check: Check
}

/** A consumer or job of a plugin. `name`: `<plugin>/<name>`. */
export type Task = { readonly plugin: string; readonly name: string } & (
  | { readonly kind: 'consumer'; readonly consumer: Consumer }
  | { readonly kind: 'job'; readonly job: Job }
)

/** A contribution that reports how it is. */
export interface HealthSource extends Required<WithHealth> {
  readonly kind: 'consumer' | 'job' | 'check' | 'token-type' | 'key-provider'
  /** Absent: a key provider, which is loaded without its plugin. */
  readonly plugin?: string
  /** Its component in `/readyz`: `<kind>:<name>`. */
  readonly component: string
}

/** Frozen after start. */
export interface Registry {
  /** In the order in which they start. */
  readonly plugins: readonly LoadedPlugin[]
  readonly operations: readonly Operation[]
  readonly tokenTypes: ReadonlyMap<string, TokenType>
  readonly permissions: readonly PermissionInfo[]
  readonly entityTypes: readonly EntityType[]
  readonly ports: Readonly<Partial<Ports>>
  readonly checks: readonly PluginCheck[]
  readonly tasks: readonly Task[]
  readonly health: readonly HealthSource[]
}

/** A caller, and when its key was authenticated: ms of `performance.now()`. */
export interface Identified {
  readonly caller: Caller
  readonly at: number
}

/** The cookie of a call of the console. */
export interface ConsoleSecret {
  /** Undefined: there is none, or no valid one. */
  readonly secret: string | undefined
  /** Whether the call is a use of the session, which moves its end. */
  readonly isUse: boolean
}

/** An API key as sent, absent when none was; or a console session's secret, which is no API key. */
export type Presented = string | ConsoleSecret | undefined

export interface LiveConsoleSession extends ConsoleSession {
  readonly callers: readonly [Caller, ...Caller[]]
}

/** The sender of a request, from its transport. */
export interface Invocation {
  readonly key: Presented
  /** Origin of the page that made the call, as its browser sent it; absent for calls of servers and of the console. */
  readonly origin?: string | undefined
  /**
   * The key's owner, if the transport has authenticated the key. Used for a second; then the key is looked up again.
   */
  readonly identified?: Identified | undefined
  readonly traceId: string
  /**
   * The idempotency key as sent (completions §1); empty or absent when none was. Two that differ are `malformed`. Reads
   * ignore them.
   */
  readonly idempotencyKeys?: readonly string[]
  /** `If-Match` as sent. Only updates and deletions of an entity that can be read heed it. */
  readonly ifMatch?: string | undefined
  /** Called before `invoke` resolves with an entity that can be updated or deleted: its version, for `ETag`. */
  readonly onVersion?: ((version: string) => void) | undefined
  /** Aborted when no client waits for the response; an AppError as its reason is the response. */
  readonly signal: AbortSignal
  /** Called with the caller as soon as it is known, for the transport's access log; `rules` grow as the call runs. */
  readonly onCaller?: (caller: Caller, rules: readonly AppliedRule[]) => void
  /** Called before `invoke` resolves with a response that is repeated from an idempotency record. */
  readonly onReplay?: () => void
  /** Resolves when the response is sent, or no client waits for it. Absent: the call's holdings end with the call. */
  readonly sent?: Promise<void>
}

/** A call of code. */
export interface CodeInvocation extends Pick<Invocation, 'traceId' | 'signal'> {
  /** Depth: runs of code that led to the call, its own included; at least 1. */
  readonly depth: number
  /** Used tokens of the call that the code runs for. */
  readonly used?: UsedTokens | undefined
  /** Where the code may send what the call returns. */
  readonly code?: CodeScope | undefined
}

export interface Authenticator {
  /**
   * `unauthenticated` without, with an unknown, an expired or a replaced key; `forbidden` for unauthorized sessions. Of
   * the two callers of a console session, the one that holds `permission`, else its first.
   */
  authenticate(key: Presented, permission?: Operation['permission']): Eventual<Caller>
  /** A console session with the callers that it is now, at least one. `unauthenticated` when it has ended. */
  consoleSession(secret: ConsoleSecret): Promise<LiveConsoleSession>
  /**
   * The caller for work as a public or private application; rejects with `unauthenticated` when it was deleted or has
   * expired.
   */
  identify(application: ApplicationRef): Promise<Caller>
}

/** Calls of the other processes of this node. */
export interface Peers {
  readonly requests: ListRequests
  destinations(tenantId: string): Promise<readonly DestinationCounts[]>
}

/** Stored proxies of all tenants, for the gateway. */
export interface ProxyDirectory {
  /** Finds a proxy by its key as sent. An acknowledged change of the management API holds for the next call. */
  find(key: string): Eventual<StoredProxy | undefined>
  /** Proxies of the tenant that intercept requests to the host; changes hold for the next call, too. */
  intercepting(tenantId: string, host: string): Eventual<readonly StoredProxy[]>
  /** A number that differs after any change to proxies, in any process. */
  changes(): Promise<number>
  /** The newest and the most recently found proxies, as they are now, at most `limit` of each. */
  recentlyUsed(limit: number): Promise<readonly StoredProxy[]>
}

/** Origins that public applications of any tenant allow, for preflights: they name no key (completions §20). */
export interface AllowedOrigins {
  /** `Access-Control-Allow-Origin` for a call of this operation by a page of this origin; undefined: none. */
  for(operation: Pick<Operation, 'rpc'>, origin: string): Promise<string | undefined>
}

/** Settings of the response guard of all tenants, for the gateway. */
export interface TenantGuards {
  /** `hasEgressOnly`: the tenant has, or had, tokens that no caller may read. `tenant_not_found` without the tenant. */
  of(tenantId: string): Eventual<{ readonly mode: GuardMode | undefined; readonly hasEgressOnly: boolean }>
}

/**
 * A started service: its registry, and one pipeline for all operations of both transports (authenticate → validate →
 * authorize → idempotency → run → audit → encode).
 */
export interface Kernel {
  readonly registry: Registry
  readonly authenticator: Authenticator
  readonly log: Log
  readonly vault: Vault
  readonly tenants: Tenants
  readonly tenantGuards: TenantGuards
  readonly allowedOrigins: AllowedOrigins
  readonly expressions: Expressions
  readonly code: Code
  /**
   * `input` is the decoded input member by member, not yet validated; members that the schema does not name are
   * ignored. Resolves with the output's declared members only. Rejects with AppError only.
   */
  invoke(operation: Operation, input: unknown, invocation: Invocation): Promise<unknown>
  /**
   * Invokes an operation for code that acts as an application of its tenant; input and result as of `invoke`. The
   * application is looked up for each call: rejects with `unauthenticated` when it was deleted or has expired.
   */
  invokeAs(
    application: ApplicationRef,
    operation: Operation,
    input: unknown,
    invocation: CodeInvocation,
  ): Promise<unknown>
  /** Rejects when the journal or a plugin does not work. */
  health(): Promise<void>
  /** `missing`: collections of recently rejected records, which were altered outside the service. */
  records(): Promise<{ readonly missing: readonly string[] }>
  /**
   * Waits for running calls (bounded), then stops plugins in reverse order of start; a second call waits for the first.
   */
  stop(): Promise<void>
}
