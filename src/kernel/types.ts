import type { Log } from '../common/log.ts'
import type { Expressions } from '../expressions/types.ts'
import type {
  ApplicationRef,
  Caller,
  Code,
  Contribution,
  EntityType,
  Operation,
  PermissionInfo,
  Plugin,
  Ports,
  StoredProxy,
  Tenants,
  TokenType,
  UsedTokens,
  Vault,
} from '../sdk/index.ts'

/** A loaded plugin with what it brought. */
export interface LoadedPlugin {
  readonly plugin: Plugin
  readonly contribution: Contribution
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
}

/** Who sent a request, as a transport saw it. */
export interface Invocation {
  /** The API key as sent; absent when none was. */
  readonly key: string | undefined
  readonly traceId: string
  /** The idempotency key as sent (completions §1); absent when none was. Passed over by operations that only read. */
  readonly idempotencyKey?: string | undefined
  /** Aborted when nobody waits for the response any more; an AppError as its reason is what the caller then gets. */
  readonly signal: AbortSignal
  /** Told who calls as soon as that is known, for the transport's access log. */
  readonly onCaller?: (caller: Caller) => void
  /** Resolves when the response is sent, or nobody waits for it any more. Absent: what the call holds ends with it. */
  readonly sent?: Promise<void>
}

/** A call that code makes. */
export interface CodeInvocation extends Pick<Invocation, 'traceId' | 'signal'> {
  /** Runs of code that it comes through, its own included: at least 1. */
  readonly depth: number
  /** Of the call that the code runs for: gets the tokens that it is given the data of. */
  readonly used?: UsedTokens | undefined
}

export interface Authenticator {
  /** `unauthenticated` without, with an unknown, an expired or a replaced key; `forbidden` for unauthorized sessions. */
  authenticate(key: string | undefined): Promise<Caller>
  /** The caller that work of a public or private application is done as; `unauthenticated` when it is gone or expired. */
  identify(application: ApplicationRef): Promise<Caller>
}

/** Stored proxies of all tenants, as the gateway asks for them. */
export interface ProxyDirectory {
  /** By proxy key as sent. What a response of the management API acknowledged holds for the next call. */
  find(key: string): Promise<StoredProxy | undefined>
  /** A number that differs after any change to proxies, in any process. */
  changes(): Promise<number>
  /** Proxies made or found last, as they are now, at most `limit` of each. */
  recentlyUsed(limit: number): Promise<readonly StoredProxy[]>
}

/** The pipeline under both transports: authenticate → validate → authorize → run → audit → encode. */
export interface Kernel {
  readonly registry: Registry
  readonly authenticator: Authenticator
  readonly log: Log
  readonly vault: Vault
  readonly tenants: Tenants
  readonly expressions: Expressions
  readonly code: Code
  /**
   * `input` is the decoded input member by member, not yet validated; members that the schema does not name are
   * ignored. Resolves with the output's declared members only. Rejects with AppError only.
   */
  invoke(operation: Operation, input: unknown, invocation: Invocation): Promise<unknown>
  /**
   * The same for code that works as an application of its tenant. The application is looked up anew for each call:
   * `unauthenticated` when it is gone or expired.
   */
  invokeAs(
    application: ApplicationRef,
    operation: Operation,
    input: unknown,
    invocation: CodeInvocation,
  ): Promise<unknown>
  /** Rejects when the journal or a plugin cannot do its work. */
  health(): Promise<void>
  /** `missing`: collections of which records were rejected lately, because they were altered outside the service. */
  records(): Promise<{ readonly missing: readonly string[] }>
  /** Lets running calls end (bounded), then stops plugins in reverse order of start; a second call waits for the first. */
  stop(): Promise<void>
}
