import { AppError, invalid } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import { storedWork } from '../expressions/work.ts'
import type { TenantKeys } from '../keys/types.ts'
import type { EgressLimits, Work } from '../sdk/index.ts'
import { maskedData, omitWriteOnly } from './disclosure.ts'
import type { Opened } from './seal.ts'
import type { CompiledType } from './token-types.ts'
import type { VaultDeps } from './vault-deps.ts'

export interface IndexTerms {
  readonly fingerprint: string | null
  /** Blind index terms, each once. */
  readonly terms: readonly Buffer[]
}

/** The stored columns that matter besides the data. */
interface IndexedColumns {
  readonly metadata: Readonly<Record<string, string>> | null
  readonly egress: EgressLimits | null
}

/** Evaluates an expression over a token's own data. Throws `invalid` at `path` when it fails. */
const evaluating = <T>(path: string, evaluate: () => T): T => {
  try {
    return evaluate()
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_expression')
      throw invalid({ [path]: ['cannot be evaluated over the data'] }, undefined)
    throw error
  }
}

/**
 * Computes fingerprint and search terms of a token, over its data without ephemeral members (a digest would outlive
 * them). Expressions of the token see no write-only members: a caller that may search or compare
 * fingerprints could guess them. An expression without a result makes no term and no fingerprint: tokens without the
 * member are not equal to each other. A token that is `egress_only` has neither, since either confirms a guess of a
 * value that no caller may read; its expressions are evaluated nevertheless, so that they do not fail once the limit is
 * removed. Throws `invalid`.
 */
export const indexTerms = (
  { expressions }: Pick<VaultDeps, 'expressions'>,
  ring: TenantKeys,
  type: CompiledType,
  opened: Opened,
  { metadata, egress }: IndexedColumns,
  fingerprinted: boolean,
  callWork?: Work,
): IndexTerms => {
  const work = storedWork(callWork)
  const { data } = opened
  const terms = new Map<string, Buffer>()
  const indexes = opened.searchIndexes ?? type.searchIndexes
  const shown = omitWriteOnly(type, data)
  const seenBy = (own: unknown): Json => (own === undefined ? data : shown)
  indexes.forEach((index, i) => {
    const value = evaluating(`search_indexes[${i}]`, () =>
      expressions.parseStored(index).render({ data: seenBy(opened.searchIndexes) }, work),
    )
    if (value !== '' && !terms.has(value)) terms.set(value, ring.term(value))
  })
  const text = fingerprinted
    ? evaluating('fingerprint_expression', () =>
        expressions
          .parseStored(opened.fingerprintExpression ?? type.fingerprint)
          .render(
            { data: seenBy(opened.fingerprintExpression), metadata: (metadata ?? {}) satisfies Json },
            work,
          ),
      )
    : ''
  if (egress?.egress_only) return { fingerprint: null, terms: [] }
  return {
    fingerprint: text === '' ? null : ring.fingerprint(type.name, text),
    terms: [...terms.values()],
  }
}

/** Throws `invalid` for a mask that fails over the token's data, so that later reads do not fail. */
export const checkMask = (
  { expressions }: Pick<VaultDeps, 'expressions'>,
  type: CompiledType,
  opened: Opened,
  work?: Work,
): void => {
  if (opened.mask !== undefined) evaluating('mask', () => maskedData(expressions, type, opened, work))
}
