import { isObject } from '../../common/json.ts'

/**
 * Members that disclose something of a token's data: an expression may be a literal card number, a fingerprint
 * discloses equality.
 */
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

type TokenTypes = ReadonlyMap<string, unknown>

/** The id of a value that is a token. */
const tokenId = ({ id, type }: Readonly<Record<string, unknown>>, types: TokenTypes): string | undefined =>
  typeof id === 'string' && typeof type === 'string' && types.has(type) ? id : undefined

interface RedactedResponse {
  readonly output: unknown
  /** Ids of the tokens whose members were removed. */
  readonly tokens: readonly string[]
}

/** An operation's response with its tokens reduced: they lose the members of `hidden`. */
export const redactResponse = (
  response: unknown,
  types: TokenTypes,
  hidden: ReadonlySet<string> = REVEALING_MEMBERS,
): RedactedResponse => {
  const tokens = new Set<string>()
  const redacted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(redacted)
    if (!isObject(value)) return value
    const entries = Object.entries(value)
    const id = tokenId(value, types)
    if (id === undefined) return Object.fromEntries(entries.map(([name, member]) => [name, redacted(member)]))
    const rest = entries.filter(([name]) => !hidden.has(name))
    if (rest.length < entries.length) tokens.add(id)
    return Object.fromEntries(rest)
  }
  return { output: redacted(response), tokens: [...tokens] }
}

/**
 * A tokenized result of code, with null in the place of each literal that the code returned; itself when it has none.
 * Each of its strings is the id of a token.
 */
export const withoutLiterals = (response: unknown, types: TokenTypes): unknown => {
  if (Array.isArray(response)) {
    const items = response.map((item) => withoutLiterals(item, types))
    return items.some((item, i) => item !== response[i]) ? items : response
  }
  if (!isObject(response))
    return typeof response === 'number' || typeof response === 'boolean' ? null : response
  if (tokenId(response, types) !== undefined) return response
  const entries = Object.entries(response).map(
    ([name, value]) => [name, withoutLiterals(value, types)] as const,
  )
  return entries.some(([name, value]) => value !== response[name]) ? Object.fromEntries(entries) : response
}
