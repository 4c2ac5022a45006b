import { isObject } from '../../common/json.ts'
import { allows, asSchema, branches, type JsonSchema } from '../../kernel/json-schema.ts'

const NUMBER = /^-?\d{1,20}(?:\.\d{1,20})?$/

/** Text of a path or query as the value its schema asks for; what does not fit stays text, for validation to refuse. */
export const coerced = (text: string, schema: JsonSchema): unknown => {
  if (allows(schema, 'string')) return text
  if ((allows(schema, 'integer') || allows(schema, 'number')) && NUMBER.test(text)) return Number(text)
  if (allows(schema, 'boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if (allows(schema, 'null') && text === 'null') return null
  return text
}

const branchOf = (schema: JsonSchema, type: string) =>
  branches(schema).find((branch) => branch.type === type) ?? schema

/** Members of an object-valued query member: `metadata.color=red`, `metadata[color]=red`, `metadata={"color":"red"}`. */
const objectMember = (
  name: string,
  schema: JsonSchema,
  query: URLSearchParams,
): Record<string, unknown> | string | undefined => {
  const found: [string, unknown][] = []
  const object = branchOf(schema, 'object')
  const memberSchema = (member: string) =>
    asSchema(
      object.properties?.[member] ??
        Object.values(object.patternProperties ?? {})[0] ??
        object.additionalProperties,
    )
  for (const [key, text] of query) {
    if (key === name) {
      if (text === '') continue
      try {
        const parsed: unknown = JSON.parse(text)
        if (!isObject(parsed)) return text
        found.push(...Object.entries(parsed))
      } catch {
        return text
      }
      continue
    }
    if (!key.startsWith(name)) continue
    const rest = key.slice(name.length)
    const member = rest.startsWith('.') ? rest.slice(1) : /^\[(.+)\]$/s.exec(rest)?.[1]
    if (member) found.push([member, coerced(text, memberSchema(member))])
  }
  // fromEntries defines members: one called `__proto__` stays plain data.
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

/**
 * A query member by its schema: repeated members are arrays (a single one too, where the schema says array), numbers
 * and booleans are read from text, an empty number or boolean counts as absent. Undefined when it is not there.
 */
export const queryMember = (name: string, schema: JsonSchema, query: URLSearchParams): unknown => {
  if (allows(schema, 'object')) return objectMember(name, schema, query)
  const texts = [...query.getAll(name)]
  if (allows(schema, 'array')) {
    texts.push(...query.getAll(`${name}[]`))
    if (texts.length === 0) return undefined
    const items = asSchema(branchOf(schema, 'array').items)
    return texts.map((text) => coerced(text, items))
  }
  if (texts.length === 0) return undefined
  if (texts.length > 1) return texts
  const text = texts[0]!
  if (text === '' && !allows(schema, 'string')) return undefined
  return coerced(text, schema)
}
