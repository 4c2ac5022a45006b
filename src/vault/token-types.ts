import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { isAlternative, joined, sentence } from '../common/ajv-messages.ts'
import { type Json, valueAt } from '../common/json.ts'
import type { DataIssue, TokenType } from '../sdk/index.ts'
import { CHECKSUMS } from './checksums.ts'

/** Default fingerprint expression of types (completions §5 "Types"). */
const DEFAULT_FINGERPRINT = '{{ data | stringify }}'

/** Legacy `privacy` of a token (completions §5). */
export interface Privacy {
  readonly classification: string
  readonly impact_level: string
  readonly restriction_policy: string
}

/** A token type, ready to validate data. */
export interface CompiledType {
  readonly name: string
  readonly title: string
  readonly container: string
  readonly mask: Json | undefined
  readonly fingerprint: string
  readonly searchIndexes: readonly string[]
  readonly writeOnly: readonly string[]
  readonly ephemeral: readonly { readonly at: string; readonly seconds: number }[]
  readonly privacy: Privacy
  /** Applies schema, normalization and checks; returns the data to store, or its issues. */
  accept(data: Json): { readonly data: Json } | { readonly issues: readonly DataIssue[] }
}

export interface TokenTypes {
  get(name: string): CompiledType | undefined
}

/** Maximum issues of one value. */
const ISSUE_LIMIT = 10

const escapePart = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1')

const placeOf = ({ keyword, instancePath, params }: ErrorObject): string =>
  keyword === 'required' ? `${instancePath}/${escapePart(params.missingProperty)}` : instancePath

/** Merges the issues of one place: "must be a string or an integer". */
const issuesOf = (errors: readonly ErrorObject[]): readonly DataIssue[] => {
  const reported = errors.filter((error) => !isAlternative(error))
  const byPlace = Map.groupBy(reported.length > 0 ? reported : errors, placeOf)
  return [...byPlace].flatMap(([at, of]) =>
    joined(new Set(of.map(sentence))).map((message) => ({ at, message })),
  )
}

/** Classification and impact level are the first two names of the default container. */
const privacyOf = (type: TokenType): Privacy => {
  const [classification = 'general', impact = 'high'] = type.container
    .toLowerCase()
    .split('/')
    .filter((part) => part !== '')
  return {
    classification,
    impact_level: impact,
    restriction_policy: type.mask === undefined ? 'redact' : 'mask',
  }
}

/** Takes some 70 ms in a process that has not done it yet. */
const validatorOf = ({ data }: TokenType): ValidateFunction => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true, logger: false })
  formats.default(ajv)
  return ajv.compile(data)
}

const compile = (type: TokenType): CompiledType => {
  // Reads and uses of tokens need none.
  let validate: ValidateFunction | undefined
  const check = (data: Json): DataIssue[] => {
    const issues = [...(type.check?.(data) ?? [])]
    for (const { check: name, at } of type.checks ?? []) {
      const value = valueAt(data, at)
      if (value === undefined || value === null) continue
      const { passes, message } = CHECKSUMS[name]
      if (typeof value === 'object' || !passes(String(value))) issues.push({ at, message })
    }
    return issues
  }
  return {
    name: type.name,
    title: type.title,
    container: type.container.toLowerCase(),
    mask: type.mask,
    fingerprint: type.fingerprint ?? DEFAULT_FINGERPRINT,
    searchIndexes: type.searchIndexes ?? [],
    writeOnly: type.writeOnly ?? [],
    ephemeral: type.ephemeral ?? [],
    privacy: privacyOf(type),
    accept: (data) => {
      validate ??= validatorOf(type)
      if (!validate(data)) return { issues: issuesOf(validate.errors ?? []).slice(0, ISSUE_LIMIT) }
      const stored = type.normalize ? type.normalize(data) : data
      const issues = check(stored)
      return issues.length > 0 ? { issues: issues.slice(0, ISSUE_LIMIT) } : { data: stored }
    },
  }
}

/** Token types by name, each compiled on first use. */
export const createTokenTypes = (types: () => ReadonlyMap<string, TokenType>): TokenTypes => {
  const compiled = new WeakMap<TokenType, CompiledType>()
  return {
    get: (name) => {
      const type = types().get(name)
      if (!type) return undefined
      const known = compiled.get(type) ?? compile(type)
      compiled.set(type, known)
      return known
    },
  }
}
