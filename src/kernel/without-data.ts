import { isObject, valueAt } from '../common/json.ts'
import type { TokenType } from '../sdk/index.ts'
import type { ShownToken } from '../store/types.ts'

/** What tells of a token's data: an expression may be a literal card number, a fingerprint says what it equals. */
const TELLING: ReadonlySet<string> = new Set([
  'data',
  'mask',
  'search_indexes',
  'fingerprint',
  'fingerprint_expression',
])

/** What is shown to those only who may read a token. */
export const GUARDED: ReadonlySet<string> = new Set([...TELLING, 'metadata'])

export interface WithoutData {
  readonly output: unknown
  /** The tokens of which something was left out, as they are shown. */
  readonly tokens: readonly ShownToken[]
}

const timeIn = (value: unknown): number | null => (typeof value === 'string' ? Date.parse(value) : null)

/** An operation's answer as it may outlive the tokens in it, and the right to them: these go without the members of `hidden`. */
export const withoutData = (
  answer: unknown,
  types: ReadonlyMap<string, Pick<TokenType, 'ephemeral'>>,
  hidden: ReadonlySet<string> = TELLING,
): WithoutData => {
  const tokens = new Map<string, ShownToken>()
  const outline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(outline)
    if (!isObject(value)) return value
    const entries = Object.entries(value)
    const { id, type, created_at, modified_at } = value
    if (typeof id !== 'string' || typeof type !== 'string' || !types.has(type))
      return Object.fromEntries(entries.map(([name, member]) => [name, outline(member)]))
    const rest = entries.filter(([name]) => !hidden.has(name))
    if (rest.length < entries.length) {
      // One without a time of creation is no state of a token: it matches none.
      const times = { created_at: timeIn(created_at) ?? -1, modified_at: timeIn(modified_at) }
      const ephemeral = types.get(type)?.ephemeral?.some(({ at }) => valueAt(value.data, at) !== undefined)
      const shown = { id, ...times, ...(ephemeral ? { ephemeral } : {}) }
      tokens.set(JSON.stringify(shown), shown)
    }
    return Object.fromEntries(rest)
  }
  return { output: outline(answer), tokens: [...tokens.values()] }
}
