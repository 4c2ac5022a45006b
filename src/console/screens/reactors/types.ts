import type { Formula } from '../formulas/types.ts'

export interface Reactor {
  readonly id: string
  readonly name: string
  /** Absent: it has code of its own. */
  readonly formula?: Formula
  readonly code?: string
  readonly configuration: Readonly<Record<string, unknown>>
  readonly application?: { readonly id: string; readonly name: string }
  /** Signs its callbacks. */
  readonly callback_key: string
  readonly created_at?: string
  readonly modified_at?: string
}

/** Result of an invocation. */
export interface Outcome {
  readonly tokens?: unknown
  readonly raw?: unknown
  readonly error?: { readonly title: string; readonly detail: string; readonly code: string }
}
