import { isObject } from '../../common/json.ts'

/** Members that disclose something of a token's data: an expression may be a literal card number, a fingerprint discloses equality. */
const REVEALING_MEMBERS: ReadonlySet<string> = new Set([
  'data',
  'mask',
  'search_indexes',
  'fingerprint',
  'fingerprint_expression',
])

/** Members for callers that may read a token. */
export const GUARDED: ReadonlySet<string> = new Set([
  ...REVEALING_MEMBERS,
  'metadata',
  'destinations',
  'egress_only',
])

export interface RedactedResponse {
  readonly output: unknown
  /** Ids of the tokens whose members were removed. */
  readonly tokens: readonly string[]
}

/** An operation's response with its tokens reduced: they lose the members of `hidden`. */
export const redactResponse = (
  response: unknown,
  types: ReadonlyMap<string, unknown>,
  hidden: ReadonlySet<string> = REVEALING_MEMBERS,
): RedactedResponse => {
  const tokens = new Set<string>()
  const outline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(outline)
    if (!isObject(value)) return value
    const entries = Object.entries(value)
    const { id, type } = value
    if (typeof id !== 'string' || typeof type !== 'string' || !types.has(type))
      return Object.fromEntries(entries.map(([name, member]) => [name, outline(member)]))
    const rest = entries.filter(([name]) => !hidden.has(name))
    if (rest.length < entries.length) tokens.add(id)
    return Object.fromEntries(rest)
  }
  return { output: outline(response), tokens: [...tokens] }
}
