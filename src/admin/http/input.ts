import { invalid } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import { methodOf, pathOf, pathParams } from '../../kernel/check/operation.ts'
import { asSchema } from '../../kernel/json-schema.ts'
import type { Operation } from '../../sdk/index.ts'
import { coercer, queryMember } from './query.ts'

/** The parts of a request that an input is made of. */
interface InputParts {
  /** Percent-decoded. */
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: URLSearchParams
  /** Parsed; undefined when there was none. */
  readonly body: unknown
}

interface InputReader {
  /** True when the operation takes members from a body; bodies of others are passed over. */
  readonly takesBody: boolean
  /** The input member by member. Throws `invalid` when the body is no object where it has to be one. */
  read(request: InputParts): Record<string, unknown>
}

const set = (input: Record<string, unknown>, name: string, value: unknown) => {
  if (value !== undefined) input[name] = value
}

/**
 * How an operation's input is put together (see `Operation`): path members first, which nothing overrides; the rest
 * from the query on GET and DELETE, else from the body. With `body`, that one member is the whole body and the rest
 * comes from the query, as in google.api.http.
 */
export const inputReader = (operation: Operation): InputReader => {
  const method = methodOf(operation)
  const properties = Object.entries(asSchema(operation.input).properties ?? {})
  const inPath = new Set(pathParams(pathOf(operation)))
  const path = properties
    .filter(([name]) => inPath.has(name))
    .map(([name, schema]) => [name, coercer(schema)] as const)
  const others = properties.filter(([name]) => !inPath.has(name) && name !== operation.body)
  const bodiless = method === 'GET' || method === 'DELETE'
  const inQuery = (bodiless || operation.body !== undefined ? others : []).map(
    ([name, schema]) => [name, queryMember(name, schema)] as const,
  )
  const inBody = bodiless || operation.body !== undefined ? [] : others

  return {
    takesBody: operation.body !== undefined || inBody.length > 0,
    read: ({ params, query, body }) => {
      const input: Record<string, unknown> = {}
      for (const [name, coerce] of path) set(input, name, coerce(params[name] ?? ''))
      for (const [name, read] of inQuery) set(input, name, read(query))
      if (operation.body !== undefined) set(input, operation.body, body)
      else if (inBody.length > 0 && body !== undefined) {
        if (!isObject(body)) throw invalid({ body: ['must be a JSON object'] })
        for (const [name] of inBody) if (Object.hasOwn(body, name)) set(input, name, body[name])
      }
      return input
    },
  }
}
