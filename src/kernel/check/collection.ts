import type { TSchema } from 'typebox'
import { Type } from '../../common/json-schema.ts'
import type { Collection } from '../../sdk/index.ts'
import { allows, asSchema } from '../json-schema.ts'
import { checkCompiles, checkDeclaration, issue, issueOfHolder, noOthers } from './declaration.ts'
import type { Issues } from './issues.ts'

const names = (member: string) =>
  Type.Optional(
    Type.Array(Type.String(), issue('it is not a list of names.', `Write it like ${member}: ["name"].`)),
  )

const name = Type.Optional(Type.String(issue('it is not a name.', 'Name a member of the schema.')))

/** Schema of a collection. */
const CollectionDeclaration = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z_]{1,50}$',
      ...issueOfHolder('its name is not valid.', 'Use lower-case letters and underscores, at most 50.'),
    }),
    schema: Type.Unknown(),
    indexes: names('indexes'),
    lookups: names('lookups'),
    unique: names('unique'),
    sealed: names('sealed'),
    hosts: name,
    origins: name,
    tokens: name,
    expires: name,
  } satisfies Record<keyof Collection, TSchema>,
  {
    ...issue('it is not an object.', 'Give { name, schema }.'),
    ...noOthers('a collection has no member "{member}".'),
  },
)

/** All issues of one collection by itself. */
export const checkCollection = (collection: Collection, issues: Issues): void => {
  const isValid = checkDeclaration(CollectionDeclaration, collection, issues)
  const schema = asSchema(collection.schema)
  const id = schema.properties?.id
  if (
    schema.type !== 'object' ||
    id === undefined ||
    !schema.required?.includes('id') ||
    !allows(id, 'string')
  )
    issues.at('schema').add('it is not an object schema with a string "id".', 'Add id: Type.String().')
  checkCompiles(schema, issues.at('schema'))

  const listOf = (member: 'indexes' | 'lookups' | 'unique' | 'sealed') =>
    (isValid(member) && collection[member]) || []
  const memberOf = (member: 'hosts' | 'origins' | 'tokens' | 'expires') =>
    isValid(member) ? collection[member] : undefined
  const [hosts, origins] = [memberOf('hosts'), memberOf('origins')]
  const [tokens, expires] = [memberOf('tokens'), memberOf('expires')]
  const plain = ['id', 'name', ...listOf('indexes'), ...listOf('lookups'), expires, hosts, origins]
  for (const member of listOf('sealed')) {
    if (schema.properties?.[member] === undefined)
      issues.at('sealed').add(`"${member}" is no member of the schema.`, 'Correct its name.')
    if (plain.includes(member))
      issues.at('sealed').add(`records are found by "${member}".`, 'Seal other members only.')
  }
  const mayBe = (member: string, type: string) => allows(schema.properties?.[member] ?? {}, type)
  if (hosts !== undefined && !mayBe(hosts, 'string') && !mayBe(hosts, 'array'))
    issues.at('hosts').add(`"${hosts}" is no string or list of the schema.`, 'Name one.')
  for (const [kind, member] of Object.entries({ origins, tokens }))
    if (member !== undefined && !mayBe(member, 'array'))
      issues.at(kind).add(`"${member}" is no list of the schema.`, 'Name one: Type.Array(Type.String()).')
  if (expires !== undefined && !mayBe(expires, 'integer'))
    issues.at('expires').add(`"${expires}" is no integer member of the schema.`, 'Name one.')
  for (const kind of ['indexes', 'lookups', 'unique'] as const) {
    const members = listOf(kind)
    if (new Set(members).size !== members.length)
      issues.at(kind).add('a member is listed twice.', 'List each once.')
    for (const member of members)
      if (!mayBe(member, 'string'))
        issues.at(kind).add(`"${member}" is no string member of the schema.`, 'Only strings can be found by.')
  }
}
