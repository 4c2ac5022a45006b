import { Type } from 'typebox'
import { throwIfInvalid } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { UsedTokens } from './vault.ts'

/** Characters of code that a proxy, formula or reactor may hold (completions §11). */
export const CODE_LENGTH = 50_000

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

/** One run of a program (interface, "Proxy transforms" and "Reactor formulas"). */
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
  /** Whether the caller may see messages of the code's errors, which may hold values (completions §12). Default: true. */
  readonly texts?: boolean | undefined
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

/** The output member with the issues of code that was saved nevertheless. */
export const warningsOf = (number: number) =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          path: Type.String({ field: 1 }),
          line: Type.Integer({ field: 2 }),
          column: Type.Integer({ field: 3 }),
          message: Type.String({ field: 4 }),
        },
        { title: 'CodeWarning' },
      ),
      { field: number, description: 'Code that was saved and does not parse.' },
    ),
  )

interface Deps {
  readonly code: Pick<Code, 'check'>
  readonly tenants: {
    get(id: string): Promise<{ readonly settings: { readonly strict_code?: string } } | undefined>
  }
}

/** `request_transform` for the member `request_transform.code`; the member `code` is a reactor's. */
const nameOf = (path: string) => path.replace(/\.?code$/, '') || 'reactor'

/**
 * Warnings about the code of a request, by the paths of its members. Throws `invalid` instead, with the same places,
 * for a tenant whose setting `strict_code` is on.
 */
export const codeWarnings = async (
  kernel: Deps,
  tenantId: string,
  code: Readonly<Record<string, string | undefined>>,
): Promise<CodeWarning[]> => {
  const found = await Promise.all(
    Object.entries(code).map(async ([path, text]): Promise<CodeWarning[]> => {
      if (text === undefined) return []
      const issues = await kernel.code.check({ tenantId, name: nameOf(path), code: text })
      return issues.map((issue) => ({ path, ...issue }))
    }),
  )
  const warnings = found.flat()
  if (warnings.length > 0 && (await kernel.tenants.get(tenantId))?.settings.strict_code === 'true')
    throwIfInvalid(
      warnings.map(({ path, line, column, message }) => [path, `line ${line}, column ${column}: ${message}`]),
    )
  return warnings
}
