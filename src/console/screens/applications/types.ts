import type { Disclosure } from '../../api/types.ts'

/** Responses that only pages of applications read (completions §4, §16). */

export interface PermissionInfo {
  readonly type: string
  readonly description: string
}

/** A line of `POST /access/diff`. */
export interface DiffLine {
  readonly container: string
  readonly permission: string
  readonly from: Disclosure | 'none'
  readonly to: Disclosure | 'none'
  readonly tokens: number
  readonly exact: boolean
}

export interface Diff {
  readonly data: readonly DiffLine[]
  /** Further containers may differ. */
  readonly more?: boolean
}
