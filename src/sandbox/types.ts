/**
 * Other people's code, run in child processes that may be killed at any moment (interface "Proxy transforms",
 * "Reactor formulas"; completions §7 and §8; src/sandbox/README.md). Only JSON texts cross.
 */
import type { Json } from '../common/json.ts'
import type { CodeIssue } from '../sdk/index.ts'

/**
 * What stands around the processes that run code, beside isolated-vm: their own user, no network, a list of system calls, a
 * list of files.
 */
export const CONFINEMENTS = ['uid', 'network', 'syscalls', 'files'] as const
export type ConfinementName = (typeof CONFINEMENTS)[number]

/** Code as saved: CommonJS (`module.exports`, `exports.default`) or an ES module with a default export. */
export interface Program {
  readonly tenantId: string
  /** File name in the frames that its author is shown, e.g. `request_transform`. */
  readonly name: string
  readonly code: string
}

export interface SandboxLimits {
  /** Milliseconds on the CPU, all entries of one invocation together. */
  readonly cpuMs: number
  /** Milliseconds from the call of `run` to its outcome, waiting for host calls included. */
  readonly wallMs: number
  /** MiB of one isolate's heap. */
  readonly memoryMb: number
  /** Bytes of the argument's JSON text. */
  readonly argumentBytes: number
  /** Bytes of the result's JSON text. */
  readonly resultBytes: number
  readonly logLines: number
  readonly logBytes: number
  /** Host calls of one invocation that are answered at once (crypto, URL). */
  readonly syncCalls: number
  /** Host calls of one invocation that wait at the same time. */
  readonly asyncCalls: number
}

/** What code may ask of the service. */
export interface SandboxHost {
  /**
   * `method` is `fetch`, or a member of the SDK as `tokens.retrieve`; `input` is what the code gave. Rejects with
   * AppError, of which the code sees name, status and message. `signal` is aborted when the invocation has ended.
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

/** Which bound an invocation met. `crash`: its process died of it; `overload`: there was no room to begin. */
export type LimitName =
  | 'cpu'
  | 'wall'
  | 'memory'
  | 'argument'
  | 'result'
  | 'host_calls'
  | 'crash'
  | 'quarantine'
  | 'overload'
  | 'cancelled'

/** How an invocation ended. Texts come from the code: they may hold values and are stored nowhere. */
export type Outcome = (
  | {
      readonly kind: 'returned'
      /** JSON text; undefined when the code returned what JSON cannot say (undefined, a function). */
      readonly json: string | undefined
    }
  | {
      readonly kind: 'threw'
      /** The class's name: `Error`, `TypeError`, `BadRequestError`, … */
      readonly name: string
      readonly message: string
      /** Frames of the code itself, `request_transform:3:7`; none of ours. */
      readonly frames: readonly string[]
      /** Set by the classes that customers' code may throw (completions §7), and `CustomHttpResponseError`. */
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: Json
    }
  | { readonly kind: 'limit'; readonly limit: LimitName; readonly message: string }
  /** The code does not parse, throws while it is loaded, or exports no function (422). */
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
   * Loads the code (its top level runs, without host) within 15 s and tells what is wrong with it: where it does not
   * parse, or that it exports no function. What was compiled stays ready.
   */
  check(
    program: Program,
  ): Promise<{ readonly issues: readonly CodeIssue[]; readonly exportsFunction: boolean }>
  /** Makes isolates and spare contexts ready; failures are passed over, and what failed is not made ready again. */
  warm(programs: readonly Program[]): Promise<void>
  /** Rejects when no child answers; `missing`: confinement that this system does not give. */
  health(): Promise<{ readonly missing: readonly ConfinementName[] }>
  close(): Promise<void>
}
