import { parseContainer } from '../access/containers.ts'
import { AppError } from '../common/errors.ts'
import { deeperThan, holdsMore, isObject, type Json } from '../common/json.ts'
import type { Expressions } from '../expressions/types.ts'
import { parseInstant } from './expiry.ts'
import { type Issues, memberPath, pointerPath } from './issues.ts'
import type { CompiledType, TokenTypes } from './token-types.ts'

/** Bounds of a token's members (completions §5). */
export const LIMITS = {
  id: { minimum: 3, maximum: 400 },
  type: 50,
  expression: 400,
  searchIndexes: 10,
  metadata: { entries: 50, value: 500 },
  maskExpressions: 250,
  /** Of its JSON text. */
  dataBytes: 1024 * 1024,
  /** Arrays and objects in it: each takes many times the bytes of its text to read and to hold. */
  dataContainers: 100_000,
} as const

const METADATA_KEY = /^[\w.-]{1,200}$/
/** Characters a chosen id may not hold; blanks at its ends would be lost where ids are trimmed. */
const ID_FORBIDDEN = /[#/\\+?[\]|&=%<>{}^\p{Cc}]|^\s|\s$/u

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
  readonly deduplicate?: boolean
  /** ms since the epoch. */
  readonly expiresAt?: number
}

export interface InputRules {
  readonly types: TokenTypes
  readonly expressions: Expressions
  readonly issues: Issues
  readonly depth: number
  readonly now: number
}

export const isTokenId = (id: string): boolean =>
  id.length >= LIMITS.id.minimum &&
  id.length <= LIMITS.id.maximum &&
  id.isWellFormed() &&
  !ID_FORBIDDEN.test(id)

const absent = (value: unknown): value is null | undefined => value === undefined || value === null

/** Says what is wrong with an expression, without its text. */
const expressionIssue = (expressions: Expressions, text: unknown): string | undefined => {
  if (typeof text !== 'string') return 'must be a string'
  if (text.length > LIMITS.expression) return `must not be longer than ${LIMITS.expression} characters`
  try {
    expressions.parseStored(text)
    return undefined
  } catch (error) {
    if (error instanceof AppError) return `must be a valid expression. ${error.message}`
    throw error
  }
}

/** Validates the members of `raw`; their issues are added to `rules.issues` under `base`, and the answer is undefined. */
export const parseDraft = (raw: unknown, rules: InputRules, base = ''): Draft | undefined => {
  const { issues, expressions } = rules
  let valid = true
  const issue = (name: string, sentence: string) => {
    valid = false
    issues.add(base === '' ? name : `${base}.${name}`, sentence)
  }
  if (!isObject(raw)) {
    issues.add(base, 'must be an object')
    return undefined
  }
  if (deeperThan(raw, rules.depth)) {
    issue('data', `must not nest deeper than ${rules.depth}`)
    return undefined
  }

  const idOf = (): Draft['id'] => {
    const { id } = raw
    if (absent(id)) return { kind: 'none' }
    if (typeof id === 'string' && id.includes('{{')) {
      const sentence = expressionIssue(expressions, id)
      if (sentence) issue('id', sentence)
      return { kind: 'alias', text: id }
    }
    if (typeof id === 'string' && isTokenId(id)) return { kind: 'given', text: id }
    const { minimum, maximum } = LIMITS.id
    issue(
      'id',
      `must be a string of ${minimum} to ${maximum} characters without # / \\ + ? [ ] | & = % < > { } ^`,
    )
    return { kind: 'none' }
  }

  const typeOf = (): CompiledType | undefined => {
    const { type: name } = raw
    const type = absent(name)
      ? rules.types.get('token')
      : typeof name === 'string' && name.length <= LIMITS.type
        ? rules.types.get(name)
        : undefined
    if (!type) issue('type', 'must be the name of a known token type')
    return type
  }

  const dataOf = (type: CompiledType | undefined): Json => {
    if (!Object.hasOwn(raw, 'data') || raw.data === undefined) {
      issue('data', 'is required')
      return null
    }
    if (!type) return null
    // However it came: bodies are limited, what code returns and a merged update are not.
    if (Buffer.byteLength(JSON.stringify(raw.data)) > LIMITS.dataBytes) {
      issue('data', `must not be larger than ${LIMITS.dataBytes} bytes as JSON`)
      return null
    }
    if (holdsMore(raw.data, LIMITS.dataContainers)) {
      issue('data', `must not hold more than ${LIMITS.dataContainers} arrays and objects`)
      return null
    }
    const outcome = type.accept(raw.data as Json)
    if ('data' in outcome) return outcome.data
    for (const { at, message } of outcome.issues) issue(pointerPath('data', at), message)
    return null
  }

  const maskOf = (): Json | undefined => {
    const { mask } = raw
    if (absent(mask)) return undefined
    if (typeof mask !== 'string' && !isObject(mask)) {
      issue('mask', 'must be a string or an object of expressions')
      return undefined
    }
    let count = 0
    const walk = (value: unknown, path: string): void => {
      if (typeof value === 'string') {
        count += 1
        const sentence = count > LIMITS.maskExpressions ? undefined : expressionIssue(expressions, value)
        if (sentence) issue(path, sentence)
      } else if (typeof value === 'object' && value !== null)
        for (const [name, member] of Object.entries(value)) walk(member, memberPath(path, name))
    }
    walk(mask, 'mask')
    if (count > LIMITS.maskExpressions)
      issue('mask', `must not hold more than ${LIMITS.maskExpressions} expressions`)
    return mask as Json
  }

  const metadataOf = (): Record<string, string> | undefined => {
    const { metadata } = raw
    if (absent(metadata)) return undefined
    if (!isObject(metadata)) {
      issue('metadata', 'must be an object of strings')
      return undefined
    }
    const entries = Object.entries(metadata)
    if (entries.length > LIMITS.metadata.entries) {
      issue('metadata', `must not have more than ${LIMITS.metadata.entries} entries`)
      return undefined
    }
    for (const [key, value] of entries) {
      if (!METADATA_KEY.test(key))
        issue('metadata', 'must have keys of 1 to 200 letters, digits and the characters _ . -')
      else if (typeof value !== 'string' || value.length > LIMITS.metadata.value || value.includes('\0'))
        issue(
          memberPath('metadata', key),
          `must be a string of at most ${LIMITS.metadata.value} characters without NUL`,
        )
    }
    return Object.fromEntries(entries) as Record<string, string>
  }

  const indexesOf = (): string[] | undefined => {
    const { search_indexes: indexes } = raw
    if (absent(indexes)) return undefined
    if (!Array.isArray(indexes) || indexes.length > LIMITS.searchIndexes) {
      issue('search_indexes', `must be an array of at most ${LIMITS.searchIndexes} expressions`)
      return undefined
    }
    indexes.forEach((index: unknown, i) => {
      const sentence = expressionIssue(expressions, index)
      if (sentence) issue(`search_indexes[${i}]`, sentence)
    })
    return indexes as string[]
  }

  const fingerprintOf = (): string | undefined => {
    const { fingerprint_expression: expression } = raw
    if (absent(expression)) return undefined
    const sentence = expression === '' ? 'must not be empty' : expressionIssue(expressions, expression)
    if (sentence) issue('fingerprint_expression', sentence)
    return expression as string
  }

  const containerOf = (type: CompiledType | undefined): string => {
    const { containers } = raw
    const otherwise = type?.container ?? ''
    if (absent(containers)) return otherwise
    if (!Array.isArray(containers) || containers.length > 1) {
      issue('containers', 'must be an array of one container')
      return otherwise
    }
    if (containers.length === 0) return otherwise
    const container = parseContainer(containers[0])
    if (container === undefined)
      issue('containers[0]', 'must be a path such as /pci/high/ of letters, digits, - and _')
    return container ?? otherwise
  }

  const expiryOf = (): number | undefined => {
    const { expires_at: text } = raw
    if (absent(text)) return undefined
    const instant = typeof text === 'string' ? parseInstant(text) : undefined
    if (!instant) issue('expires_at', 'must be an ISO 8601 date-time')
    else if (instant.from <= rules.now) issue('expires_at', 'must lie in the future')
    return instant?.from
  }

  const deduplicateOf = (): boolean | undefined => {
    const { deduplicate_token: flag } = raw
    if (absent(flag)) return undefined
    if (typeof flag !== 'boolean') issue('deduplicate_token', 'must be true or false')
    return flag === true
  }

  const id = idOf()
  const type = typeOf()
  const data = dataOf(type)
  const mask = maskOf()
  const metadata = metadataOf()
  const searchIndexes = indexesOf()
  const fingerprintExpression = fingerprintOf()
  const container = containerOf(type)
  const deduplicate = deduplicateOf()
  const expiresAt = expiryOf()
  if (!valid || !type) return undefined
  return {
    id,
    type,
    data,
    container,
    ...(mask === undefined ? {} : { mask }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(searchIndexes === undefined ? {} : { searchIndexes }),
    ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    ...(deduplicate === undefined ? {} : { deduplicate }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}
