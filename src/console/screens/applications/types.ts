/** What the API says about applications (completions §4, §14, §16). */

export type ApplicationType = 'public' | 'private' | 'management'
export type Disclosure = 'redact' | 'mask' | 'reveal'

export interface Destination {
  readonly host: string
  readonly ports?: readonly number[]
  readonly methods?: readonly string[]
  readonly path?: string
  readonly surfaces?: readonly string[]
}

export interface Rule {
  readonly description: string
  readonly priority: number
  readonly container: string
  readonly transform: Disclosure
  readonly permissions: readonly string[]
  readonly destinations?: readonly Destination[]
}

/** What an application may do. */
export interface Grants {
  readonly permissions: readonly string[]
  readonly rules: readonly Rule[]
  readonly destinations?: readonly Destination[]
}

export interface Application extends Grants {
  readonly id: string
  readonly name: string
  readonly type: ApplicationType
  /** Of a new application, or of one with a new key. */
  readonly key?: string
  readonly created_by: string
  readonly created_at: string
  readonly modified_by?: string
  readonly modified_at?: string
  readonly expires_at?: string
}

export interface ApplicationKey {
  readonly id: string
  readonly version: string
  readonly created_by: string
  readonly created_at: string
  /** Of a run of a command. */
  readonly expires_at?: string
  /** Of a new key. */
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
