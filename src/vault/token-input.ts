import { AppError } from '../common/errors.ts'
import { deeperThan, holdsMore, isObject, type Json } from '../common/json.ts'
import { compileValidator } from '../common/validate.ts'
import { parseDestinationList } from '../egress/destination-list.ts'
import type { Expressions } from '../expressions/types.ts'
import type { EgressLimits } from '../sdk/index.ts'
import { TOKEN_LIMITS, TokenInput } from '../sdk/token-input.ts'
import { parseInstant } from './expiry.ts'
import { type Issues, memberPath, pointerPath } from './issues.ts'
import type { Opened } from './seal.ts'
import type { CompiledType, TokenTypes } from './token-types.ts'

/** A create request, or the merged outcome of a PATCH, found valid. */
export interface Draft {
  readonly id: { readonly kind: 'none' } | { readonly kind: 'given' | 'alias'; readonly text: string }
  readonly type: CompiledType
  readonly data: Json
  readonly mask?: Json
  readonly metadata?: Readonly<Record<string, string>>
  readonly searchIndexes?: readonly string[]
  readonly fingerprintExpression?: string
  readonly container: string
  readonly egress: EgressLimits | null
  readonly deduplicate?: boolean
  /** ms since the epoch. */
  readonly expiresAt?: number
}

/** The expressions of a draft, which are sealed with its data. */
export const expressionsOf = ({
  mask,
  searchIndexes,
  fingerprintExpression,
}: Draft): Pick<Opened, 'mask' | 'searchIndexes' | 'fingerprintExpression'> => ({
  ...(mask === undefined ? {} : { mask }),
  ...(searchIndexes === undefined ? {} : { searchIndexes }),
  ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
})

interface InputRules {
  readonly types: TokenTypes
  readonly expressions: Expressions
  readonly issues: Issues
  readonly depth: number
  readonly now: number
}

/** Compiled on first use. */
let schemaErrors: ReturnType<typeof compileValidator> | undefined

/** The issue of an expression, without its text. */
const expressionIssue = (expressions: Expressions, text: string): string | undefined => {
  try {
    expressions.parseStored(text)
    return undefined
  } catch (error) {
    if (error instanceof AppError) return `must be a valid expression. ${error.message}`
    throw error
  }
}

/**
 * A definition as a draft: valid by the schema, its type known, its expressions parsed. Issues are added to
 * `rules.issues` under `base`, and the result is then undefined.
 */
export const parseDraft = (raw: unknown, rules: InputRules, base = ''): Draft | undefined => {
  const { issues, expressions } = rules
  let valid = true
  const issue = (name: string, sentence: string) => {
    valid = false
    issues.add(base === '' ? name : `${base}.${name}`, sentence)
  }
  if (isObject(raw) && deeperThan(raw, rules.depth)) {
    issue('data', `must not nest deeper than ${rules.depth}`)
    return undefined
  }
  schemaErrors ??= compileValidator(TokenInput)
  const errors = Object.entries(schemaErrors(raw)?.errors ?? {})
  for (const [path, sentences] of errors) for (const sentence of sentences) issue(path, sentence)
  if (!isObject(raw)) return undefined
  const malformed = new Set(errors.map(([path]) => path.split(/[.[]/, 1)[0]))
  /** A member that is there and valid by the schema. */
  const member = <N extends keyof TokenInput>(name: N): NonNullable<TokenInput[N]> | undefined =>
    malformed.has(name) ? undefined : ((raw as TokenInput)[name] ?? undefined)
  const checkExpression = (path: string, text: string): void => {
    const sentence = expressionIssue(expressions, text)
    if (sentence) issue(path, sentence)
  }

  const id = member('id')
  const isAlias = id?.includes('{{') ?? false
  if (id !== undefined && isAlias) checkExpression('id', id)

  const type = malformed.has('type') ? undefined : rules.types.get(member('type') ?? 'token')
  if (!type && !malformed.has('type')) issue('type', 'must be the name of a known token type')

  const dataOf = (type: CompiledType): Json => {
    // However it came: bodies are limited, what code returns and a merged update are not.
    if (Buffer.byteLength(JSON.stringify(raw.data)) > TOKEN_LIMITS.dataBytes)
      issue('data', `must not be larger than ${TOKEN_LIMITS.dataBytes} bytes as JSON`)
    else if (holdsMore(raw.data, TOKEN_LIMITS.dataContainers))
      issue('data', `must not hold more than ${TOKEN_LIMITS.dataContainers} arrays and objects`)
    else {
      const outcome = type.accept(raw.data as Json)
      if ('data' in outcome) return outcome.data
      for (const { at, message } of outcome.issues) issue(pointerPath('data', at), message)
    }
    return null
  }
  const data = type && !malformed.has('data') ? dataOf(type) : null

  const mask = member('mask')
  let count = 0
  const checkMask = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      count += 1
      if (count > TOKEN_LIMITS.maskExpressions) return
      if (value.length > TOKEN_LIMITS.expression)
        issue(path, `must have at most ${TOKEN_LIMITS.expression} characters`)
      else checkExpression(path, value)
    } else if (typeof value === 'object' && value !== null)
      for (const [name, member] of Object.entries(value)) checkMask(member, memberPath(path, name))
  }
  checkMask(mask, 'mask')
  if (count > TOKEN_LIMITS.maskExpressions)
    issue('mask', `must not hold more than ${TOKEN_LIMITS.maskExpressions} expressions`)

  const metadata = member('metadata')
  const searchIndexes = member('search_indexes')
  for (const [i, index] of (searchIndexes ?? []).entries()) checkExpression(`search_indexes[${i}]`, index)
  const fingerprintExpression = member('fingerprint_expression')
  if (fingerprintExpression !== undefined) checkExpression('fingerprint_expression', fingerprintExpression)
  const deduplicate = member('deduplicate_token')

  const sentDestinations = member('destinations')
  const destinations =
    sentDestinations &&
    parseDestinationList(sentDestinations, (path, sentence) => issue(`destinations${path}`, sentence))
  const egressOnly = member('egress_only') === true

  const expiry = member('expires_at')
  const expiresAt = expiry === undefined ? undefined : parseInstant(expiry)?.from
  if (expiry !== undefined && expiresAt === undefined) issue('expires_at', 'must be an ISO 8601 date-time')
  if (expiresAt !== undefined && expiresAt <= rules.now) issue('expires_at', 'must lie in the future')

  if (!valid || !type) return undefined
  return {
    id: id === undefined ? { kind: 'none' } : { kind: isAlias ? 'alias' : 'given', text: id },
    type,
    data,
    container: member('containers')?.[0]?.toLowerCase() ?? type.container,
    egress:
      destinations === undefined && !egressOnly
        ? null
        : { ...(destinations && { destinations }), ...(egressOnly && { egress_only: true }) },
    ...(mask === undefined ? {} : { mask }),
    ...(metadata === undefined ? {} : { metadata: Object.fromEntries(Object.entries(metadata)) }),
    ...(searchIndexes === undefined ? {} : { searchIndexes }),
    ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    ...(deduplicate === undefined ? {} : { deduplicate }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}
