import type { TSchema } from 'typebox'
import type { Json } from '../common/json.ts'
import type { WithHealth } from './health.ts'

/** An issue of a token's data: JSON pointer below `data` ('' for `data` itself) and message, without the value. */
export interface DataIssue {
  readonly at: string
  readonly message: string
}

/** Named checks for declarative plugins. */
export type NamedCheck = 'luhn' | 'aba' | 'iban'

/**
 * A kind of token (completions §5). All functions but `health` are pure and synchronous. The kernel checks the
 * declaration at start: container syntax, expressions that parse, pointers, and that the mask shows no `writeOnly`
 * field.
 */
export interface TokenType extends WithHealth {
  /** `[a-z0-9_]{1,50}`; also the `entity_type` of its log records. */
  readonly name: string
  /** Display name, e.g. "Card". */
  readonly title: string
  /** JSON Schema of `data`. */
  readonly data: TSchema | Readonly<Record<string, unknown>>
  /** Normalizes accepted spellings, after schema validation and before `check`. */
  readonly normalize?: (data: Json) => Json
  readonly check?: (data: Json) => readonly DataIssue[]
  readonly checks?: readonly { readonly check: NamedCheck; readonly at: string }[]
  /** Default container, e.g. `/pci/high/`. */
  readonly container: string
  /** An expression, or a JSON value whose strings are expressions, over `data`. None: masked means no data. */
  readonly mask?: Json
  /** Default fingerprint expression over `data` and `metadata`. */
  readonly fingerprint?: string
  /** Default search index expressions over `data`. */
  readonly searchIndexes?: readonly string[]
  /**
   * JSON pointers of write-only members: the API never returns them, not even under reveal; code and proxies may use
   * them.
   */
  readonly writeOnly?: readonly string[]
  /** Members that are deleted some time after creation, e.g. a card's cvc. */
  readonly ephemeral?: readonly { readonly at: string; readonly seconds: number }[]
  /** Valid, made-up `data` for the documentation; checked at start. */
  readonly examples?: readonly Json[]
}
