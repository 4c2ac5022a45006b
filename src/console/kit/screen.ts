import type { Api } from '../api/client.ts'
import type { TemplateResult } from './html.ts'
import type { ReadonlySignal } from './signals.ts'

/** True for a permission that one of the signed-in keys has. */
export type May = (permission: string) => boolean

/** A page of the console: one line of `screens.ts`. */
export interface Screen {
  /** Path of the hash: `/tokens`, or `/tokens/:id` with a parameter. */
  readonly path: string
  /** Heading, until the screen sets another. */
  readonly title: string
  /** Label in the navigation; absent: not there. */
  readonly nav?: string | undefined
  /** Path of the screen whose label in the navigation stands for it too. */
  readonly under?: string
  /** False: neither its link nor the screen is shown. */
  readonly needs: (may: May) => boolean
  /** Called on each entry. State of the screen lives in signals made here. */
  open(context: ScreenContext): ScreenInstance
}

export interface ScreenContext {
  readonly api: Api
  /** Parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** Members behind the `?` of the hash, and those that `setFilters` left out of it. */
  readonly filters: ReadonlySignal<URLSearchParams>
  /** A filter may hold data, so that it is not in the hash. */
  readonly hasHiddenFilters: ReadonlySignal<boolean>
  /**
   * Changes filters; undefined or `''` removes one. Replaces the entry of the history. A value that may hold data is a
   * filter as others are, but not in the hash.
   */
  setFilters(changes: Readonly<Record<string, string | undefined>>): void
  /** Aborts when the screen is left. */
  readonly signal: AbortSignal
  /** Sets the heading and the title of the document. */
  title(text: string): void
  /** Opens another screen: `#/tokens`. */
  navigate(hash: string): void
}

export interface ScreenInstance {
  /** Everything below the heading. Reads signals. */
  view(): TemplateResult
  /** Buttons and links beside the heading. */
  actions?(): TemplateResult
  close?(): void
}
