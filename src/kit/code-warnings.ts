import { throwIfInvalid } from '../common/errors.ts'
import { Type } from '../common/json-schema.ts'
import { type Code, type CodeWarning, field } from '../sdk/index.ts'

/** Characters of code that a proxy, formula or reactor may hold (completions §11). */
export const CODE_LENGTH = 50_000

const Warnings = Type.Array(
  Type.Object(
    {
      path: Type.String({ field: 1 }),
      line: Type.Integer({ field: 2 }),
      column: Type.Integer({ field: 3 }),
      message: Type.String({ field: 4 }),
    },
    { title: 'CodeWarning' },
  ),
)

/** The output member with the issues of code that was saved nevertheless. */
export const warningsOf = (number: number) =>
  Type.Optional(
    field(number, Type.Array(Warnings.items, { description: 'Code that was saved and does not parse.' })),
  )

/** Output of a check of code that is not saved. */
export const CodeCheck = Type.Object({ warnings: field(1, Warnings) }, { title: 'CodeCheck' })

interface Deps {
  readonly code: Pick<Code, 'check'>
  readonly tenants: {
    get(id: string): Promise<{ readonly settings: { readonly strict_code?: string } } | undefined>
  }
}

/** `request_transform` for the member `request_transform.code`; the member `code` is a reactor's. */
const nameOf = (path: string) => path.replace(/\.?code$/, '') || 'reactor'

/** Warnings about code, by the paths of its members. */
export const checkCode = async (
  { code }: Pick<Deps, 'code'>,
  tenantId: string,
  members: Readonly<Record<string, string | undefined>>,
): Promise<CodeWarning[]> => {
  const warnings = await Promise.all(
    Object.entries(members).map(async ([path, text]): Promise<CodeWarning[]> => {
      if (text === undefined) return []
      const issues = await code.check({ tenantId, name: nameOf(path), code: text })
      return issues.map((issue) => ({ path, ...issue }))
    }),
  )
  return warnings.flat()
}

/**
 * Warnings about the code of a request that saves it. Throws `invalid` instead, with the same places, for a tenant
 * whose setting `strict_code` is on.
 */
export const codeWarnings = async (
  context: Deps,
  tenantId: string,
  members: Readonly<Record<string, string | undefined>>,
): Promise<CodeWarning[]> => {
  const warnings = await checkCode(context, tenantId, members)
  if (warnings.length > 0 && (await context.tenants.get(tenantId))?.settings.strict_code === 'true')
    throwIfInvalid(
      warnings.map(({ path, line, column, message }) => [path, `line ${line}, column ${column}: ${message}`]),
    )
  return warnings
}
