import type { Json } from '../common/json.ts'
import type { Filter } from '../sdk/index.ts'
import type { Work } from './work.ts'

/** What a token id in an expression stands for; `undefined` when the id is unknown. */
export type Resolve = (id: string) => { readonly data: Json; readonly token: Json } | undefined

/** A parsed text of a detokenization: literal pieces and expressions in order. */
export interface Template {
  /** Token ids that its expressions name, each once. */
  readonly ids: readonly string[]
  /** True when the text is exactly one expression: the result then keeps the value's own type. */
  readonly single: boolean
  /** Values are never evaluated again. Texts of one body share `work`. Throws `invalid_expression`. */
  evaluate(resolve: Resolve, work?: Work): Json
  /** The result as text: objects as JSON, null as empty. */
  render(resolve: Resolve, work?: Work): string
}

/** A stored expression (mask, fingerprint, search index, alias) over named variables. */
export interface StoredExpression {
  /** `undefined` variables read as null. Throws `invalid_expression`. */
  evaluate(variables: Readonly<Record<string, Json>>, work?: Work): Json
  render(variables: Readonly<Record<string, Json>>, work?: Work): string
}

/** The `{{ }}` language (completions §6). Pure; of compiled texts only stored expressions are kept. */
export interface Expressions {
  /**
   * Throws `invalid_expression` on an unclosed or empty `{{ }}`, an unknown filter or a syntax fault, and when `work` is used
   * up: reading an expression counts as evaluating it does. What is compiled is shared by texts of the same `work`.
   */
  parse(text: string, work?: Work): Template
  /** The same language, whose `parse` counts in `work` where none is given. */
  within(work: Work): Expressions
  /** Any text with `{{ }}`, tags included as text. Lenient about argument commas, as completions §6 says of masks. */
  parseStored(text: string): StoredExpression
  /** Every string inside is an expression; the shape stays. `whole`: what several masks may cost together. */
  evaluateMask(mask: Json, variables: Readonly<Record<string, Json>>, whole?: Pick<Work, 'use'>): Json
  readonly filters: ReadonlyMap<string, Filter>
}

/** True when the text may hold an expression. */
export const mayHoldExpression = (text: string): boolean => text.includes('{{')
