import { isObject } from '../../common/json.ts'

/** A JSON Schema of OpenAPI 3.1: the declared one without proto field numbers. */
export const printedSchema = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(printedSchema)
  if (!isObject(schema)) return schema
  const printed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'field' && typeof value === 'number') continue
    if (name === 'properties' || name === 'patternProperties')
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
