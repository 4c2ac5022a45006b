import { Type } from 'typebox'
import { throwIfInvalid } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { UsedTokens } from './vault.ts'

/** Characters of code that a proxy, formula or reactor may hold (completions §11). */
export const CODE_LENGTH = 50_000

/** Where code does not parse; line and column count from 1. */
export interface CodeIssue {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** A fault of code that was saved all the same (completions §7). */
export interface CodeWarning extends CodeIssue {
  /** The member that holds the code, e.g. `request_transform.code`. */
  readonly path: string
}

/** Code as saved. */
export interface Program {
  readonly tenantId: string
  /** How its author knows it, e.g. `request_transform`: in the frames and sentences that tell what went wrong. */
  readonly name: string
  readonly code: string
}

/** One run of a program (interface, "Proxy transforms" and "Reactor formulas"). */
export interface CodeRun extends Program {
  /** What the code gets, without `bt`. */
  readonly argument: Json
  /** The application that `bt` works as; absent: the code gets no `bt`. */
  readonly applicationId?: string | undefined
  readonly traceId: string
  readonly signal: AbortSignal
  /** Runs of code that led to this one. */
  readonly depth: number
  /** Gets the tokens that `bt` gives the code the data of. */
  readonly used?: UsedTokens | undefined
  /** Whether the caller may read what the code says when it fails, which may hold values (completions §12). Default: yes. */
  readonly texts?: boolean | undefined
  /** Milliseconds, at most; default and bound: 30,000. */
  readonly wallMs?: number | undefined
}

/** Runs and checks code of tenants in the sandbox. */
export interface Code {
  /**
   * What the code returned; undefined when that is nothing JSON can say. Fails as completions §7 says: `code_failed` for
   * what it threw, with its message, and for a limit it met; `unprocessable` for code that cannot be used; `overloaded`.
   */
  run(run: CodeRun): Promise<Json | undefined>
  /** Where it does not parse, or that it exports no function; none when it can run. It is kept ready then. */
  check(program: Program): Promise<readonly CodeIssue[]>
}

/** The output member with the faults of code that was saved all the same. */
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

/** `request_transform` for the member `request_transform.code`; what is nothing but code is a reactor's. */
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
