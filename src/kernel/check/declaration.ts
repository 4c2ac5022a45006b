import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { pointerParts, valueAt } from '../../common/json.ts'
import { Type } from '../../common/json-schema.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Issues } from './issues.ts'

/** The issue of a value that a schema rejects. */
interface Report {
  /** `{value}`: the value as JSON; `{member}`: the name of the member. */
  readonly message: string
  /** `{members}`: names of the members that the schema declares. */
  readonly fix: string
  /** True when the issue's location is what holds the value. */
  readonly isAtHolder?: boolean
}

/** A schema of a declaration. Each value that it can reject has a report, or is in a value that has one. */
type Declared = TSchema & {
  readonly report?: Report
  readonly unknown?: Report
  readonly properties?: Readonly<Record<string, Declared>>
  readonly items?: Declared
}

/** Option of a schema: its issue, at the location of the value. */
export const issue = (message: string, fix: string): { readonly report: Report } => ({
  report: { message, fix },
})

/** Option of a schema: its issue, at the location of what holds the value. */
export const issueOfHolder = (message: string, fix: string): { readonly report: Report } => ({
  report: { message, fix, isAtHolder: true },
})

/** Options of an object schema that rejects members it does not declare. */
export const noOthers = (message: string, fix = 'Known are {members}.') => ({
  additionalProperties: false,
  unknown: { message, fix } satisfies Report,
})

/** Schema of a function, which JSON Schema cannot express. */
export const Callable = (options: object) => Type.Unsafe<() => unknown>({ isFunction: true, ...options })

/** Schema of `health` of a contribution. */
export const HealthFunction = () =>
  Type.Optional(
    Callable(
      issueOfHolder('"health" is not a function.', 'Write async health(signal) { … }, or leave it out.'),
    ),
  )

/** Schema of an async function. */
export const AsyncCallable = (options: object) =>
  Type.Unsafe<() => Promise<unknown>>({ isAsyncFunction: true, ...options })

/** Without the meta schema and the optimizer: each would take longer than all checks of a start. */
const ajv = new Ajv({
  strict: false,
  allErrors: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
})
ajv.addKeyword({ keyword: 'isFunction', validate: (_: true, value: unknown) => typeof value === 'function' })
ajv.addKeyword({
  keyword: 'isAsyncFunction',
  validate: (_: true, value: unknown) => Object.prototype.toString.call(value) === '[object AsyncFunction]',
})

const validators = new WeakMap<TSchema, ValidateFunction>()

const validatorOf = (schema: TSchema): ValidateFunction => {
  const validator = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validator)
  return validator
}

const MAX_VALUE_LENGTH = 200

const asText = (value: unknown): string => {
  try {
    return (JSON.stringify(value) ?? 'undefined').slice(0, MAX_VALUE_LENGTH)
  } catch {
    return `a ${typeof value}`
  }
}

interface Rejected {
  readonly report: Report
  /** JSON pointer of the value. */
  readonly pointer: string
  /** Its location, e.g. `['examples[0]', 'error']`. */
  readonly steps: readonly string[]
  readonly member: string
  readonly members: readonly string[]
}

/** The innermost value around an error whose schema has a report. */
const rejectedBy = (root: Declared, { keyword, instancePath, params }: ErrorObject): Rejected => {
  const missing = keyword === 'required' ? `/${params.missingProperty}` : ''
  let schema: Declared | undefined = root
  let [pointer, steps]: [string, readonly string[]] = ['', []]
  let rejected: Rejected | undefined
  const note = (report: Report | undefined, member = steps.at(-1) ?? '') => {
    const members = Object.keys(schema?.properties ?? {})
    if (report) rejected = { report, pointer, steps, member, members }
  }
  note(schema.report)
  for (const part of pointerParts(instancePath + missing)) {
    steps = schema?.items ? [...steps.slice(0, -1), `${steps.at(-1)}[${part}]`] : [...steps, part]
    schema = schema?.items ?? schema?.properties?.[part]
    pointer += `/${part}`
    note(schema?.report)
  }
  if (keyword === 'additionalProperties') note(schema?.unknown, params.additionalProperty)
  if (rejected === undefined) throw new Error(`the schema of a declaration has no report for ${pointer}`)
  return rejected
}

/** True when the member or item of a declaration has no issue, nor what holds it. */
export type IsValid = (...path: readonly (string | number)[]) => boolean

/** Adds an issue for each member of a declaration that its schema rejects. */
export const checkDeclaration = (schema: TSchema, value: unknown, issues: Issues): IsValid => {
  const validate = validatorOf(schema)
  if (validate(value)) return () => true
  const invalid = new Set<string>()
  for (const error of validate.errors ?? []) {
    const { report, pointer, steps, member, members } = rejectedBy(schema, error)
    if (error.keyword !== 'additionalProperties') {
      if (invalid.has(pointer)) continue
      invalid.add(pointer)
    }
    const location = report.isAtHolder ? steps.slice(0, -1) : steps
    const message = report.message
      .replaceAll('{value}', () => asText(valueAt(value, pointer)))
      .replaceAll('{member}', () => member)
    const fix = report.fix.replaceAll('{members}', () => members.join(', '))
    location.reduce((at, step) => at.at(step), issues).add(message, fix)
  }
  return (...path) => ['', ...path].every((_, at, parts) => !invalid.has(parts.slice(0, at + 1).join('/')))
}

/** Adds an issue for a JSON Schema that does not compile. */
export const checkCompiles = (schema: unknown, issues: Issues): void => {
  try {
    compileValidator(schema)
  } catch (thrown) {
    issues.add(`the schema does not compile: ${(thrown as Error).message}.`, 'Correct it.')
  }
}
