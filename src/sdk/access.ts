/** Callers, and their permissions and rules (completions §4). */
import type { DestinationList } from './destinations.ts'

export type ApplicationType = 'public' | 'private' | 'management'

export type TokenPermission =
  | 'token:create'
  | 'token:read'
  | 'token:update'
  | 'token:delete'
  | 'token:use'
  | 'token:search'

/** `resource:verb`. Plugins may declare their own. */
export type Permission = TokenPermission | (string & { readonly __permission?: never })

/** Disclosure of a token to a caller: no data, masked data, plaintext. Named `transform` in a rule's JSON. */
export type Disclosure = 'redact' | 'mask' | 'reveal'

export interface Condition {
  readonly attribute: 'id' | 'container'
  readonly operator: 'equals' | 'starts_with'
  readonly value: string
}

/** Either `container` (it and all below it) or `conditions` (sessions only; all must match). */
export interface AccessRule {
  readonly description: string
  /** ≥ 1, unique per application; the lowest is evaluated first. */
  readonly priority: number
  readonly container?: string
  readonly conditions?: readonly Condition[]
  readonly transform: Disclosure
  readonly permissions: readonly Permission[]
  /** Where `token:use` by this rule may send values; absent: anywhere (completions §14). */
  readonly destinations?: DestinationList
}

export interface Grants {
  readonly permissions: readonly Permission[]
  readonly rules: readonly AccessRule[]
  /** Lists that must each allow where `token:use` sends values; absent: anywhere. A session has two applications. */
  readonly destinations?: readonly DestinationList[]
}

/** What the response guard does with a value that comes back, the weakest first (completions §17). */
export type GuardMode = 'off' | 'report' | 'replace' | 'block'

/** The party that a request acts for. All its reads and writes are bound to `tenantId`. */
export interface Caller {
  readonly tenantId: string
  readonly actorId: string
  readonly actorType: 'application' | 'session' | 'user' | 'anonymous'
  /** `undefined` for anonymous callers. */
  readonly applicationId?: string
  readonly applicationName?: string
  readonly applicationType?: ApplicationType
  /** Id of the application whose key authorized the session; absent without a session. */
  readonly authorizedBy?: string
  /** The application key of the call; absent for code, sessions and anonymous callers. */
  readonly keyId?: string
  /** Of its application; absent: none is set. */
  readonly responseGuard?: GuardMode
  /** Origins of pages whose calls its application allows (completions §20); absent: none. */
  readonly allowedOrigins?: readonly string[]
  readonly grants: Grants
}

/** A key's owner, as the credentials port returns it. `expiresAt` in ms since the epoch. */
export interface Credential {
  readonly caller: Caller
  readonly expiresAt?: number
  /** A session that is not authorized yet: 403 on all operations. */
  readonly pending?: boolean
}

export interface ApplicationRef {
  readonly tenantId: string
  readonly id: string
}
