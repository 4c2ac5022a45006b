/** Variables of expressions in headers of a proxied request (completions §13). */
import type { Json } from '../common/json.ts'
import type { Bytes } from './values.ts'

/** `request.body`, `request.headers.<name>` with a name in lower case, and `configuration.<name>`. */
export type VariablePath =
  | readonly ['request', 'body']
  | readonly ['request', 'headers', string]
  | readonly ['configuration', string]

/** Values by path. */
export interface Variables {
  readonly request: { readonly body: Bytes; readonly headers: Readonly<Record<string, string>> }
  readonly configuration: Readonly<Record<string, Json>>
}

const HEAD = /^(?:request\.body|request\.headers\.[A-Za-z0-9_-]+|configuration\.[\w\u0080-\uffff-]+)$/

/** The variable that a path names; undefined when it names none. */
export const variableOf = (parts: readonly (string | number)[]): VariablePath | undefined => {
  const [first, second, third] = parts
  if (first === 'request' && second === 'body' && parts.length === 2) return ['request', 'body']
  if (first === 'request' && second === 'headers' && parts.length === 3)
    return ['request', 'headers', String(third).toLowerCase()]
  if (first === 'configuration' && second !== undefined && parts.length === 2)
    return ['configuration', String(second)]
  return undefined
}

/** The variable at the head of an expression; undefined for a token id. */
export const variableAtHead = (head: string): VariablePath | undefined =>
  HEAD.test(head) ? variableOf(head.split('.')) : undefined
