import { settingsSchema } from './schema.ts'

type Schema = Readonly<Record<string, unknown>>

/** A number is accepted as text where its digits are a valid value. */
const withNumbers = (schema: Schema): Schema =>
  schema.type === 'string' && new RegExp(String(schema.pattern ?? '^[0-9]$'), 'u').test('1')
    ? { ...schema, type: ['string', 'integer'] }
    : schema

/** A list may also be text, as in a variable, or its one item. */
const ofList = ({ items, description, ...rest }: Schema): Schema => {
  const item = withNumbers(items as Schema)
  const text = { type: 'string', description: 'The items, separated by commas.' }
  return {
    description,
    anyOf: [{ ...rest, items: item }, text, ...(Array.isArray(item.type) ? [{ type: 'integer' }] : [])],
  }
}

const ofMember = ({ secret, ...schema }: Schema): Schema => {
  const member = schema.type === 'array' ? ofList(schema) : schema.pattern ? withNumbers(schema) : schema
  return secret ? { ...member, writeOnly: true } : member
}

/** JSON Schema (2020-12) of the configuration file, for editors and pipelines. */
export const configSchema = (): Schema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration file of Sidevault',
  type: 'object',
  properties: {
    $schema: { type: 'string', description: 'Where this schema is. Ignored.' },
    ...Object.fromEntries(
      Object.entries(settingsSchema.properties).map(([name, schema]) => [name, ofMember({ ...schema })]),
    ),
  },
  additionalProperties: false,
})
