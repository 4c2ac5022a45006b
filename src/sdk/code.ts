import { Type } from 'typebox'
import { invalid } from '../common/errors.ts'

/** Characters of code that a proxy, formula or reactor may hold (completions §11). */
export const CODE_LENGTH = 50_000

/** Where code does not parse; line and column count from 1. */
export interface CodeFault {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** A fault of code that was saved all the same (completions §7). */
export interface CodeWarning extends CodeFault {
  /** The member that holds the code, e.g. `request_transform.code`. */
  readonly path: string
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
  checkCode(code: string): Promise<readonly CodeFault[]>
  readonly tenants: {
    get(id: string): Promise<{ readonly settings: { readonly strict_code?: string } } | undefined>
  }
}

/**
 * Warnings about the code of a request, by the paths of its members. Throws `invalid` instead, with the same places,
 * for a tenant whose setting `strict_code` is on.
 */
export const codeWarnings = async (
  kernel: Deps,
  tenantId: string,
  code: Readonly<Record<string, string | undefined>>,
): Promise<CodeWarning[]> => {
  const warnings: CodeWarning[] = []
  for (const [path, text] of Object.entries(code))
    if (text !== undefined)
      for (const fault of await kernel.checkCode(text)) warnings.push({ path, ...fault })
  if (warnings.length === 0 || (await kernel.tenants.get(tenantId))?.settings.strict_code !== 'true')
    return warnings
  const errors: Record<string, string[]> = {}
  for (const { path, line, column, message } of warnings)
    errors[path] = [...(errors[path] ?? []), `line ${line}, column ${column}: ${message}`]
  throw invalid(errors)
}
