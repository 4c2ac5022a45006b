import { compileValidator } from '../../common/validate.ts'
import type { Collection } from '../../sdk/index.ts'
import type { Issues } from './issues.ts'
import { allows, asSchema } from './json-schema.ts'

const NAME = /^[a-z_]{1,50}$/

/** All issues of one collection by itself. */
export const checkCollection = (collection: Collection, issues: Issues): void => {
  if (!NAME.test(String(collection.name)))
    issues.add('its name is not valid.', 'Use lower-case letters and underscores, at most 50.')
  const schema = asSchema(collection.schema)
  const id = schema.properties?.id
  if (
    schema.type !== 'object' ||
    id === undefined ||
    !schema.required?.includes('id') ||
    !allows(id, 'string')
  )
    issues.at('schema').add('it is not an object schema with a string "id".', 'Add id: Type.String().')
  try {
    compileValidator(collection.schema)
  } catch (thrown) {
    issues.at('schema').add(`it does not compile: ${(thrown as Error).message}.`, 'Correct it.')
  }
  const found = ['id', 'name', ...(collection.indexes ?? []), ...(collection.lookups ?? [])]
  for (const member of collection.sealed ?? []) {
    if (schema.properties?.[member] === undefined)
      issues.at('sealed').add(`"${member}" is no member of the schema.`, 'Correct its name.')
    if (found.includes(member) || member === collection.expires || member === collection.hosts)
      issues.at('sealed').add(`records are found by "${member}".`, 'Seal other members only.')
  }
  const { expires, tokens, hosts } = collection
  const bound = hosts === undefined ? undefined : schema.properties?.[hosts]
  if (hosts !== undefined && !allows(bound ?? {}, 'string') && !allows(bound ?? {}, 'array'))
    issues.at('hosts').add(`"${hosts}" is no string or list of the schema.`, 'Name one.')
  if (tokens !== undefined && !allows(schema.properties?.[tokens] ?? {}, 'array'))
    issues.at('tokens').add(`"${tokens}" is no list of the schema.`, 'Name one: Type.Array(Type.String()).')
  if (expires !== undefined && !allows(schema.properties?.[expires] ?? {}, 'integer'))
    issues.at('expires').add(`"${expires}" is no integer member of the schema.`, 'Name one.')
  for (const kind of ['indexes', 'lookups', 'unique'] as const) {
    const members = collection[kind] ?? []
    if (new Set(members).size !== members.length)
      issues.at(kind).add('a member is listed twice.', 'List each once.')
    for (const member of members) {
      const property = schema.properties?.[member]
      if (property === undefined || !allows(property, 'string'))
        issues.at(kind).add(`"${member}" is no string member of the schema.`, 'Only strings can be found by.')
    }
  }
}
