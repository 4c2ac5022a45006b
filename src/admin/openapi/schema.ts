import { isObject } from '../../common/json.ts'

/** The one pattern of a map whose members may have any name. */
const ANY_NAME = '^.*$'

/** The members' schema of a map; undefined when it has several, by name. */
const mapOf = (patterns: unknown): unknown => {
  const [only, ...others] = Object.entries(patterns as Record<string, unknown>)
  return only?.[0] === ANY_NAME && others.length === 0 ? only[1] : undefined
}

/** A JSON Schema of OpenAPI 3.1: the declared one without proto field numbers, maps as most generators know them. */
export const printedSchema = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(printedSchema)
  if (!isObject(schema)) return schema
  const printed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (
      (name === 'field' && typeof value === 'number') ||
      (name === 'errorMessage' && typeof value === 'string')
    )
      continue
    if (name === 'patternProperties' && mapOf(value) !== undefined)
      printed.additionalProperties = printedSchema(mapOf(value))
    else if (name === 'properties' || name === 'patternProperties')
      printed[name] = Object.fromEntries(
        Object.entries(value as Record<string, unknown>).map(([member, child]) => [
          member,
          printedSchema(child),
        ]),
      )
    else if (name === 'default' || name === 'examples' || name === 'enum' || name === 'const')
      printed[name] = value
    else printed[name] = printedSchema(value)
  }
  return printed
}
