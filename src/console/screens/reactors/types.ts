export const ELEMENT_TYPES = ['string', 'number', 'boolean'] as const
type ElementType = (typeof ELEMENT_TYPES)[number]

/** A value that a reactor of the formula is configured with. */
export interface Element {
  readonly name: string
  readonly description?: string
  readonly type: ElementType
}

/** An argument of an invocation; dotted names nest. */
export interface Parameter extends Element {
  readonly optional: boolean
}

export interface Formula {
  readonly id: string
  readonly name: string
  readonly description?: string
  readonly type: 'official' | 'private'
  readonly status: string
  /** A data URL. The page's headers deny to show it. */
  readonly icon?: string
  readonly code: string
  readonly configuration: readonly Element[]
  readonly request_parameters: readonly Parameter[]
  readonly created_at?: string
  readonly modified_at?: string
}

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

/** Code that a new reactor or formula begins with. */
export const SAMPLE = `module.exports = async ({ args, configuration }) => ({
  raw: { received: Object.keys(args) },
})
`
