import { isObject } from '../../common/json.ts'
import type { OpenApi } from './types.ts'

/** A `title` like this names a schema, as it names a message of gRPC; any other is for people only. */
const NAME = /^[A-Z][A-Za-z0-9]{0,63}$/

/** Values in these places are data, whatever they look like. */
const DATA = new Set(['default', 'example', 'examples', 'enum', 'const'])

const without = (schema: Record<string, unknown>, ...names: readonly string[]) =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)))

/**
 * The document with every object that has a name under `components.schemas`, once, and references to it elsewhere: what
 * generators make classes of. A schema whose name another one has stays inline.
 */
export const withNamedSchemas = (document: OpenApi): OpenApi => {
  const schemas: Record<string, unknown> = { ...document.components.schemas }

  /** True when the name stands for this schema from now on. */
  const claim = (name: string, schema: unknown): boolean => {
    schemas[name] ??= schema
    return JSON.stringify(schemas[name]) === JSON.stringify(schema)
  }

  const membersOf = (members: object) =>
    Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, named(schema)]))

  const named = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(named)
    if (!isObject(value)) return value
    const own: Record<string, unknown> = {}
    for (const [name, child] of Object.entries(value)) {
      if (DATA.has(name)) own[name] = child
      else own[name] = name === 'properties' && isObject(child) ? membersOf(child) : named(child)
    }
    const { title, description } = own
    if (typeof title !== 'string' || !NAME.test(title) || !isObject(own.properties)) return own
    if (!claim(title, { ...without(own, 'description'), type: 'object' })) return own
    const reference = { $ref: `#/components/schemas/${title}` }
    return {
      ...([own.type].flat().includes('null') ? { anyOf: [reference, { type: 'null' }] } : reference),
      ...(description === undefined ? {} : { description }),
    }
  }

  const paths = named(document.paths) as OpenApi['paths']
  return { ...document, paths, components: { ...document.components, schemas } }
}
