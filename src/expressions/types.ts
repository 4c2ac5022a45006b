import type { Json } from '../common/json.ts'
import type { Filter } from '../sdk/index.ts'
import type { VariablePath, Variables } from './variables.ts'
import type { Work } from './work.ts'

/** Resolves a token id of an expression; `undefined` for an unknown id. */
export type Resolve = (id: string) => ResolvedToken | undefined

interface ResolvedToken {
  readonly data: Json
  readonly token: Json
  /** The caller may send the value and not see it. */
  readonly opacity?: Opacity | undefined
  /** Gets each expression over the token, as it was written, with its result. */
  readonly onResult?: ((expression: string, result: Json) => void) | undefined
}

/** The kind of place that an opaque value is put into. */
export type Opacity = 'url' | 'text'

/** A parsed text of a detokenization: literal pieces and expressions in order. */
export interface Template {
  /** Token ids in its expressions, each once. */
  readonly ids: readonly string[]
  /** True when the text is exactly one expression: the result then has the type of the value. */
  readonly single: boolean
  /** Values themselves are not evaluated. Texts of one body share `work`. Throws `invalid_expression`. */
  evaluate(resolve: Resolve, work?: Work): Json
  /** The result as text: objects as JSON, null as empty. `variables`: of a text that was parsed with them. */
  render(resolve: Resolve, work?: Work, variables?: Variables): string
}

/** A stored expression (mask, fingerprint, search index, alias) over named variables. */
export interface StoredExpression {
  /** Undefined variables are null. Throws `invalid_expression`. */
  evaluate(variables: Readonly<Record<string, Json>>, work?: Work): Json
  render(variables: Readonly<Record<string, Json>>, work?: Work): string
}

/** The `{{ }}` language (completions §6). Pure; only compiled stored expressions are cached. */
export interface Expressions {
  /**
   * Throws `invalid_expression` for an unclosed or empty `{{ }}`, an unknown filter or a syntax error, and when `work`
   * is exhausted: parsing counts like evaluation. Texts with the same `work` share compiled filters. With `seen` the
   * text may use variables, and `seen` gets each.
   */
  parse(text: string, work?: Work, seen?: (path: VariablePath) => void): Template
  /** This language with `work` as the default of `parse`. */
  within(work: Work): Expressions
  /** Any text with `{{ }}`; tags are text. Lenient about argument commas (completions §6, masks). */
  parseStored(text: string): StoredExpression
  /** Every string inside is an expression; the structure stays. `total`: work that several masks share. */
  evaluateMask(mask: Json, variables: Readonly<Record<string, Json>>, total?: Pick<Work, 'use'>): Json
  readonly filters: ReadonlyMap<string, Filter>
}

/** True when the text may contain an expression. */
export const mayHoldExpression = (text: string): boolean => text.includes('{{')
