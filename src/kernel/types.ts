import type { Log } from '../common/log.ts'
import type { Caller, Contribution, Operation, PermissionInfo, Plugin, TokenType } from '../sdk/index.ts'

/** A loaded plugin with what it brought. */
export interface LoadedPlugin {
  readonly plugin: Plugin
  readonly contribution: Contribution
}

/** Frozen after start. */
export interface Registry {
  readonly plugins: readonly LoadedPlugin[]
  readonly operations: readonly Operation[]
  readonly tokenTypes: ReadonlyMap<string, TokenType>
  readonly permissions: readonly PermissionInfo[]
}

/** Who sent a request, as a transport saw it. */
export interface Invocation {
  /** The API key as sent; absent when none was. */
  readonly key: string | undefined
  readonly traceId: string
  readonly signal: AbortSignal
}

export interface Authenticator {
  /** `unauthenticated` without, with an unknown, an expired or a replaced key; `forbidden` for unauthorized sessions. */
  authenticate(key: string | undefined): Promise<Caller>
}

/** The pipeline under both transports: authenticate → validate → authorize → run → audit → encode (DESIGN §4). */
export interface RunningKernel {
  readonly registry: Registry
  readonly authenticator: Authenticator
  readonly log: Log
  /** `input` is the decoded input member by member, not yet validated. Rejects with AppError only. */
  invoke(operation: Operation, input: unknown, invocation: Invocation): Promise<unknown>
  health(): Promise<void>
  stop(): Promise<void>
}
