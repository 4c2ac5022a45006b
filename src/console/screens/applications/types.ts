import type { Disclosure } from '../../api/types.ts'

/** Responses that only pages of applications read (completions §4, §16). */

export interface ApplicationKey {
  readonly id: string
  readonly version: string
  readonly created_by: string
  readonly created_at: string
  /** Expiry, for the key of one run of a command only. */
  readonly expires_at?: string
  /** The key itself, in the response that creates it only. */
  readonly key?: string
}

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
