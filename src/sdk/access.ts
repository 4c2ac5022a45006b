/** Who calls, and what they may do (completions §4). */

export type ApplicationType = 'public' | 'private' | 'management'

export type TokenPermission =
  | 'token:create'
  | 'token:read'
  | 'token:update'
  | 'token:delete'
  | 'token:use'
  | 'token:search'

/** `resource:verb`. Plugins may bring their own. */
export type Permission = TokenPermission | (string & { readonly __permission?: never })

/** What a caller sees of a token: no data, masked data, plaintext. Called `transform` in a rule's wire form. */
export type Disclosure = 'redact' | 'mask' | 'reveal'

export interface Condition {
  readonly attribute: 'id' | 'container'
  readonly operator: 'equals' | 'starts_with'
  readonly value: string
}

/** Either `container` (it and all below it) or `conditions` (sessions only; all must hold). */
export interface AccessRule {
  readonly description: string
  /** ≥ 1, unique per application; lower is tried first. */
  readonly priority: number
  readonly container?: string
  readonly conditions?: readonly Condition[]
  readonly transform: Disclosure
  readonly permissions: readonly Permission[]
}

export interface Grants {
  readonly permissions: readonly Permission[]
  readonly rules: readonly AccessRule[]
}

/** The party a request acts for. Everything it reads or writes is bound to `tenantId`. */
export interface Caller {
  readonly tenantId: string
  readonly actorId: string
  readonly actorType: 'application' | 'session' | 'user' | 'anonymous'
  /** `undefined` for anonymous callers. */
  readonly applicationId?: string
  readonly applicationType?: ApplicationType
  /** The key of the application that the call was made with; absent for code, sessions and anonymous callers. */
  readonly keyId?: string
  readonly grants: Grants
}

/** A key's owner, as the credentials port answers. `expiresAt` in ms since the epoch. */
export interface Credential {
  readonly caller: Caller
  readonly expiresAt?: number
  /** A session that nobody has authorized yet: 403 on everything. */
  readonly unauthorized?: boolean
}

export interface ApplicationRef {
  readonly tenantId: string
  readonly id: string
}
