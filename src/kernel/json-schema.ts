import { isObject } from '../common/json.ts'

/** The parts of a JSON Schema that the kernel looks at; typebox schemas are such objects. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema | readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: boolean | JsonSchema
  readonly field?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly default?: unknown
  readonly title?: string
  readonly description?: string
  readonly examples?: readonly unknown[]
}

/** A typebox schema (or any other value) read as JSON Schema. */
export const asSchema = (schema: unknown): JsonSchema => (isObject(schema) ? (schema as JsonSchema) : {})

/** The alternatives of a schema: those of `anyOf` or `oneOf`, or the schema itself. */
export const branches = (schema: JsonSchema): readonly JsonSchema[] =>
  schema.anyOf ?? schema.oneOf ?? [schema]

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** True when the schema names values of this JSON type among those it allows; one that allows anything names none. */
export const allows = (schema: JsonSchema, type: string): boolean =>
  branches(schema).some((branch) => {
    if (branch !== schema && (branch.anyOf ?? branch.oneOf)) return allows(branch, type)
    if (branch.type !== undefined) return [branch.type].flat().includes(type)
    const values = branch.enum ?? (branch.const === undefined ? [] : [branch.const])
    return values.some((value) => typeOf(value) === (type === 'integer' ? 'number' : type))
  })

/** Every schema directly below this one that describes values inside or beside it. */
export const children = (schema: JsonSchema): readonly (readonly [name: string, JsonSchema])[] => [
  ...Object.entries(schema.properties ?? {}),
  ...Object.entries(schema.patternProperties ?? {}).map(([, child]) => ['*', child] as const),
  ...(isObject(schema.additionalProperties)
    ? [['*', schema.additionalProperties as JsonSchema] as const]
    : []),
  ...(Array.isArray(schema.items) ? schema.items : schema.items === undefined ? [] : [schema.items]).map(
    (child) => ['[]', child] as const,
  ),
  ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].map(
    (child) => ['', child] as const,
  ),
]
