import { isObject } from '../common/json.ts'

/** What of a token lies sealed in the store: an expression may be a literal card number. */
const SEALED: ReadonlySet<string> = new Set(['data', 'mask', 'search_indexes', 'fingerprint_expression'])

export interface WithoutData {
  readonly output: unknown
  /** Ids of the tokens of which something was left out. */
  readonly tokens: readonly string[]
}

/** An operation's answer as it may outlive the tokens in it: these keep only what every holder of their id may see. */
export const withoutData = (answer: unknown, types: ReadonlyMap<string, unknown>): WithoutData => {
  const tokens = new Set<string>()
  const outline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(outline)
    if (!isObject(value)) return value
    const entries = Object.entries(value)
    const { id, type } = value
    if (typeof id !== 'string' || typeof type !== 'string' || !types.has(type))
      return Object.fromEntries(entries.map(([name, member]) => [name, outline(member)]))
    const rest = entries.filter(([name]) => !SEALED.has(name))
    if (rest.length < entries.length) tokens.add(id)
    return Object.fromEntries(rest)
  }
  return { output: outline(answer), tokens: [...tokens] }
}
