import { isObject } from '../../common/json.ts'
import { parseJson } from '../../common/parse-json.ts'
import { allows, asSchema, branches, type JsonSchema } from '../../kernel/json-schema.ts'

/** As many digits as a double may have, so that every page past the end is one. */
const NUMBER = /^-?\d{1,308}(?:\.\d{1,20})?$/

/** Converts path or query text to the type of its schema; other text stays, for validation to reject. */
export const coercer = (schema: JsonSchema): ((text: string) => unknown) => {
  if (allows(schema, 'string')) return (text) => text
  const isNumber = allows(schema, 'integer') || allows(schema, 'number')
  const isBoolean = allows(schema, 'boolean')
  const isNull = allows(schema, 'null')
  return (text) => {
    if (isNumber && NUMBER.test(text)) return Number(text)
    if (isBoolean && (text === 'true' || text === 'false')) return text === 'true'
    return isNull && text === 'null' ? null : text
  }
}

const branchOf = (schema: JsonSchema, type: string) =>
  branches(schema).find((branch) => branch.type === type) ?? schema

/**
 * Members of an object-valued query member: `metadata.color=red`, `metadata[color]=red`, `metadata={"color":"red"}`.
 */
const objectMember = (
  name: string,
  schema: JsonSchema,
  query: URLSearchParams,
): Record<string, unknown> | string | undefined => {
  const members: [string, unknown][] = []
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
        const parsed: unknown = parseJson(text)
        if (!isObject(parsed)) return text
        members.push(...Object.entries(parsed))
      } catch {
        return text
      }
      continue
    }
    if (!key.startsWith(name)) continue
    const rest = key.slice(name.length)
    const member = rest.startsWith('.') ? rest.slice(1) : /^\[(.+)\]$/s.exec(rest)?.[1]
    if (member) members.push([member, coercer(memberSchema(member))(text)])
  }
  // fromEntries defines members: one called `__proto__` stays plain data.
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/**
 * A query member by its schema: repeated members are arrays (a single one too, where the schema says array), numbers
 * and booleans are read from text, an empty number or boolean counts as absent. Undefined when it is not there.
 */
export const queryMember = (name: string, schema: JsonSchema): ((query: URLSearchParams) => unknown) => {
  if (allows(schema, 'object')) return (query) => objectMember(name, schema, query)
  if (allows(schema, 'array')) {
    const coerce = coercer(asSchema(branchOf(schema, 'array').items))
    return (query) => {
      const texts = [...query.getAll(name), ...query.getAll(`${name}[]`)]
      return texts.length === 0 ? undefined : texts.map(coerce)
    }
  }
  const coerce = coercer(schema)
  const mayBeEmpty = allows(schema, 'string')
  return (query) => {
    const texts = query.getAll(name)
    const text = texts[0]
    if (text === undefined || (text === '' && texts.length === 1 && !mayBeEmpty)) return undefined
    return texts.length > 1 ? texts : coerce(text)
  }
}
