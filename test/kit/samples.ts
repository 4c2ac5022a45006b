import { isObject } from '../../src/common/json.ts'
import { compileValidator } from '../../src/common/validate.ts'
import { allows, asSchema, type JsonSchema } from '../../src/kernel/json-schema.ts'

/** Bounds that samples respect and invalid values exceed. */
interface Bounded extends JsonSchema {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
}

const TEXTS = [
  'x',
  'ADMIN',
  '/',
  '/pci/high/',
  'true',
  'deny',
  'off',
  'a@example.com',
  '2030-01-31T12:00:00Z',
  'data:image/png;base64,AAAA',
]

const first = <T>(candidates: readonly T[], matches: (candidate: T) => boolean, what: string): T => {
  const candidate = candidates.find(matches)
  if (candidate === undefined)
    throw new Error(`no example of ${what} is known: add one to test/kit/samples.ts`)
  return candidate
}

const isValid = (schema: JsonSchema) => {
  const validate = compileValidator(schema)
  return (value: unknown) => validate(structuredClone(value)) === undefined
}

/** The schema of a list's items, or of the values of a map whose keys are free. */
const inner = (schema: JsonSchema): Bounded =>
  asSchema(
    schema.items ?? Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties,
  ) as Bounded

const isMap = (schema: JsonSchema) => allows(schema, 'object') && schema.properties === undefined

/** The least value that satisfies a schema: required members only, nothing longer than it must be. */
export const sampleOf = (schema: Bounded): unknown => {
  const { anyOf, enum: values, properties, required = [], minItems = 0, minimum = 1 } = schema
  if (anyOf?.[0] !== undefined) return sampleOf(anyOf[0])
  if (schema.const !== undefined) return schema.const
  if (values !== undefined) return values[0]
  if (properties !== undefined)
    return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] as Bounded)]))
  if (allows(schema, 'string')) return first(TEXTS, isValid(schema), JSON.stringify(schema))
  if (allows(schema, 'integer') || allows(schema, 'number')) return minimum
  if (allows(schema, 'boolean')) return false
  if (allows(schema, 'array')) return Array.from({ length: minItems }, () => sampleOf(inner(schema)))
  if (allows(schema, 'object')) return {}
  return 'x'
}

/** A value with one thing wrong, at `path` (written as responses write it). */
export interface Issue {
  readonly path: string
  readonly what: string
  readonly value: unknown
}

const OTHER_TYPES: readonly (readonly [type: string, value: unknown])[] = [
  ['null', null],
  ['boolean', true],
  ['number', 1.5],
  ['string', 'text'],
  ['array', []],
  ['object', {}],
]

const typeIssues = (schema: Bounded): readonly Omit<Issue, 'path'>[] =>
  OTHER_TYPES.filter(([, value]) => !isValid({ ...schema, properties: {}, required: [] } as Bounded)(value))
    .filter(([type]) => !allows(schema, type))
    .map(([type, value]) => ({ what: `${type} in place of the declared type`, value }))

const items = (length: number, schema: Bounded) => Array.from({ length }, () => sampleOf(inner(schema)))

const entries = (length: number, schema: Bounded) =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`k${index}`, sampleOf(inner(schema))]))

const boundIssues = (schema: Bounded): readonly Omit<Issue, 'path'>[] => {
  const issues: Omit<Issue, 'path'>[] = []
  const add = (what: string, value: unknown) => issues.push({ what, value })
  const { minLength, maxLength, pattern, format, minimum, maximum, minItems, maxItems, maxProperties } =
    schema
  if (minLength !== undefined) add('too short', 'x'.repeat(minLength - 1))
  if (maxLength !== undefined) add('too long', 'x'.repeat(maxLength + 1))
  if (pattern !== undefined)
    add(
      'of another pattern',
      first(['!', '', '\u0000'], (text) => !new RegExp(pattern).test(text), pattern),
    )
  if (format !== undefined) add('of another format', '!')
  if (schema.enum !== undefined) add('an unknown choice', 'unknown choice')
  if (minimum !== undefined) add('too small', minimum - 1)
  if (maximum !== undefined) add('too large', maximum + 1)
  if (minItems !== undefined) add('too few items', items(minItems - 1, schema))
  if (maxItems !== undefined) add('too many items', items(maxItems + 1, schema))
  if (maxProperties !== undefined) add('too many members', entries(maxProperties + 1, schema))
  return issues
}

const memberIssues = (
  schema: Bounded,
  value: Readonly<Record<string, unknown>>,
  path: string,
): readonly Issue[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`
    const { [name]: present, ...without } = value
    const missing = schema.required?.includes(name) ? [{ path: at, what: 'missing', value: without }] : []
    const wrong = issuesOf(member as Bounded, present ?? sampleOf(member as Bounded), at)
    return [...missing, ...wrong.map((issue) => ({ ...issue, value: { ...value, [name]: issue.value } }))]
  })

/** Values with one error, made from the valid `value`, at any depth that its schema describes. */
export const issuesOf = (schema: Bounded, value: unknown, path = ''): readonly Issue[] => {
  const whole = [...typeIssues(schema), ...boundIssues(schema)].map((issue) => ({ ...issue, path }))
  if (schema.properties !== undefined && isObject(value))
    return [...whole, ...memberIssues(schema, value, path)]
  const [at, wrap] = allows(schema, 'array')
    ? [`${path}[0]`, (item: unknown): unknown => [item]]
    : [`${path}.k`, (item: unknown): unknown => ({ k: item })]
  if (!allows(schema, 'array') && !isMap(schema)) return whole
  const inside = issuesOf(inner(schema), sampleOf(inner(schema)), at)
  return [...whole, ...inside.map((issue) => ({ ...issue, value: wrap(issue.value) }))]
}
