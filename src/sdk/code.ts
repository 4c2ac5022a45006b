import type { Json } from '../common/json.ts'
import type { CodeScope } from './destinations.ts'
import type { UsedTokens } from './vault.ts'

/** A syntax error in code; line and column count from 1. */
export interface CodeIssue {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** An issue of code that was saved nevertheless (completions §7). */
export interface CodeWarning extends CodeIssue {
  /** The member that holds the code, e.g. `request_transform.code`. */
  readonly path: string
}

/** Code as saved. */
export interface Program {
  readonly tenantId: string
  /** Name in stack frames and error messages, e.g. `request_transform`. */
  readonly name: string
  readonly code: string
}

/** A run of a program (interface, "Proxy transforms" and "Reactor formulas"). */
export interface CodeRun extends Program {
  /** The argument of the code, without `bt`. */
  readonly argument: Json
  /** The application that `bt` acts as; absent: the code gets no `bt`. */
  readonly applicationId?: string | undefined
  readonly traceId: string
  readonly signal: AbortSignal
  /** Depth: runs of code that led to this one. */
  readonly depth: number
  /** Collects the tokens whose data `bt` discloses to the code. */
  readonly used?: UsedTokens | undefined
  /** Default: that of code without a destination. */
  readonly scope?: CodeScope | undefined
  /**
   * Whether the caller may see messages of the code's errors, which may hold values (completions §12). Default: true.
   */
  readonly exposeErrorMessages?: boolean | undefined
  /** Timeout in ms; default and maximum: 30,000. */
  readonly wallMs?: number | undefined
}

/** Runs and checks code of tenants in the sandbox. */
export interface Code {
  /**
   * Returns the code's result; undefined when JSON cannot express it. Rejects as in completions §7: `code_failed` for
   * an exception, with its message, and for an exceeded limit; `unprocessable` for code that cannot run; `overloaded`.
   */
  run(run: CodeRun): Promise<Json | undefined>
  /** Syntax errors, or that it exports no function; empty when it can run. Valid code is compiled and cached. */
  check(program: Program): Promise<readonly CodeIssue[]>
}
