/**
 * Runs tenants' code in child processes that may be killed at any time (interface "Proxy transforms", "Reactor
 * formulas"; completions §7 and §8; src/sandbox/README.md). Only JSON texts cross.
 */
import type { Json } from '../common/json.ts'
import type { CodeIssue } from '../sdk/index.ts'

/**
 * Confinement of sandbox processes in addition to isolated-vm: their own user, no network, an allow list of system
 * calls, an allow list of files.
 */
export const CONFINEMENTS = ['uid', 'network', 'syscalls', 'files'] as const
export type ConfinementName = (typeof CONFINEMENTS)[number]

/** Code as saved: CommonJS (`module.exports`, `exports.default`) or an ES module with a default export. */
export interface Program {
  readonly tenantId: string
  /** File name in stack frames, e.g. `request_transform`. */
  readonly name: string
  readonly code: string
}

export interface SandboxLimits {
  /** CPU limit of all entries of one invocation. */
  readonly cpuMs: number
  /** Wall-clock limit from the call of `run` to its outcome, host calls included. */
  readonly wallMs: number
  /** Heap limit of one isolate in MiB. */
  readonly memoryMib: number
  /** Limit of the argument's JSON text. */
  readonly argumentBytes: number
  /** Limit of the result's JSON text. */
  readonly resultBytes: number
  readonly logLines: number
  readonly logBytes: number
  /** Synchronous host calls of one invocation (crypto, URL). */
  readonly syncCalls: number
  /** Concurrent asynchronous host calls of one invocation. */
  readonly asyncCalls: number
}

/** API of the service for one invocation. */
export interface SandboxHost {
  /**
   * `method` is `fetch` or a member of the SDK, such as `tokens.retrieve`; `input` is the code's argument. Rejects with
   * AppError, of which the code sees name, status and message. `signal` is aborted when the invocation ends.
   */
  call(method: string, input: Json, signal: AbortSignal): Promise<Json>
  /** Whether the code gets `req.bt` (interface "Proxy transforms": present if an application is set). */
  readonly sdk: boolean
}

export interface Invocation {
  readonly program: Program
  /** JSON text of the one argument, without `bt`. */
  readonly argument: string
  readonly host: SandboxHost
  readonly limits?: Partial<SandboxLimits>
  readonly signal?: AbortSignal
}

export interface ConsoleLine {
  readonly level: 'log' | 'info' | 'warn' | 'error' | 'debug'
  readonly text: string
}

/**
 * Exceeded limit. `crash`: the code crashed its process. `interrupted`: its process ended, maybe because of other code.
 * `overload`: the queue was full.
 */
export type LimitName =
  | 'cpu'
  | 'wall'
  | 'memory'
  | 'argument'
  | 'result'
  | 'host_calls'
  | 'crash'
  | 'interrupted'
  | 'quarantine'
  | 'overload'
  | 'cancelled'

/** Outcome of an invocation. Texts come from the code: they may contain values and are never stored. */
export type Outcome = (
  | {
      readonly kind: 'returned'
      /** JSON text; undefined for results without a JSON form (undefined, a function). */
      readonly json: string | undefined
    }
  | {
      readonly kind: 'threw'
      /** The class's name: `Error`, `TypeError`, `BadRequestError`, … */
      readonly name: string
      readonly message: string
      /** Frames of the code itself, `request_transform:3:7`; none of the realm. */
      readonly frames: readonly string[]
      /** Set by typed errors (completions §7) and `CustomHttpResponseError`. */
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: Json
    }
  | { readonly kind: 'limit'; readonly limit: LimitName; readonly message: string }
  /** The code does not parse, throws while loading, or exports no function (422). */
  | { readonly kind: 'unusable'; readonly message: string; readonly issues: readonly CodeIssue[] }
) & {
  readonly console: readonly ConsoleLine[]
  /** Milliseconds. */
  readonly timing: { readonly waited: number; readonly cpu: number; readonly wall: number }
}

export interface Sandbox {
  /** Never rejects. */
  run(invocation: Invocation): Promise<Outcome>
  /**
   * Loads the code within 15 s (its top level runs, without host) and returns its issues: syntax errors, or no exported
   * function. The loaded program stays cached.
   */
  check(program: Program): Promise<readonly CodeIssue[]>
  /** Prepares isolates and contexts. Ignores failures; failed programs are not warmed again. */
  warm(programs: readonly Program[]): Promise<void>
  /** Rejects when no child is ready; `missing`: confinement that this system does not provide. */
  health(): Promise<{ readonly missing: readonly ConfinementName[] }>
  close(): Promise<void>
}
