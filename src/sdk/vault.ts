import type { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { AccessRule, Caller, Disclosure, Grants, TokenPermission } from './access.ts'
import type { CodeScope, DestinationList, OutboundDestination } from './destinations.ts'
import type { Surface } from './surfaces.ts'
import type { TokenInput, TokenPatch } from './token-input.ts'

/** A token as the API returns it to one caller: `data` by the caller's disclosure; unset members are absent. */
export interface Token {
  readonly id: string
  readonly tenant_id: string
  readonly type: string
  readonly data?: Json
  /** The stored mask expression. */
  readonly mask?: Json
  readonly metadata?: Readonly<Record<string, string>>
  readonly search_indexes?: readonly string[]
  readonly fingerprint?: string
  readonly fingerprint_expression?: string
  readonly containers: readonly string[]
  readonly privacy: {
    readonly classification: string
    readonly impact_level: string
    readonly restriction_policy: string
  }
  readonly destinations?: DestinationList
  readonly egress_only?: boolean
  /** Disclosure that the caller's grants allow; present when the read asked for less. */
  readonly disclosure?: Disclosure
  readonly expires_at?: string
  readonly created_by: string
  readonly created_at: string
  readonly modified_by?: string
  readonly modified_at?: string
}

export interface TokenFilter {
  readonly ids?: readonly string[]
  readonly types?: readonly string[]
  readonly containers?: readonly string[]
  readonly fingerprints?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>>
  /** The query language of completions §5 "Search". */
  readonly query?: string
}

/** Offset pages are 1-based; `start` is the opaque `next` of the page before. Sizes 1–100. */
export type PageRequest =
  | { readonly kind: 'offset'; readonly page: number; readonly size: number }
  | { readonly kind: 'cursor'; readonly start?: string; readonly size: number }

export interface TokenPage {
  readonly data: readonly Token[]
  /** Total count; only in offset lists. */
  readonly total?: number | undefined
  /** Cursor of the next page; absent at the end. */
  readonly next?: string
}

/** State of a token when its data was disclosed to a call; times in ms since the epoch. */
export interface TokenState {
  readonly id: string
  readonly created_at: number
  /** Version, incremented by each change. */
  readonly version: number
  /** Expiry of the token, or of a short-lived member. */
  readonly until: number | null
}

/** Tokens whose data was disclosed to a call, by its own operations or by code that it ran. */
export interface UsedTokens {
  /**
   * The first state of a token counts: results that depend on it do not become newer. `own`: a change by the call
   * itself, which updates the state.
   */
  add(state: TokenState, own?: 'own'): void
  get(id: string): TokenState | undefined
  /** Undefined: more than the tracked maximum (20,000). */
  states(): readonly TokenState[] | undefined
}

/** Collects what decided about the tokens of a call. */
export interface Decisions {
  add(
    grants: Grants,
    permission: TokenPermission,
    token: { readonly id: string; readonly container: string },
  ): void
}

/** Context of a disclosure, for the audit journal. */
export interface UseContext {
  readonly caller: Caller
  /** For `preview`: the caller that sees the result, and is the actor of its records. Absent: `caller`. */
  readonly reader?: Caller
  readonly traceId: string
  readonly now: number
  /** Work budget of all expressions of the call; absent: the vault creates one. */
  readonly work?: Work
  /**
   * Registers memory held of the tenants' shared budget, to be released with the values; absent: released on return.
   */
  readonly hold?: ((held: Held) => void) | undefined
  /** Collects the tokens whose data the call was given. */
  readonly used?: UsedTokens | undefined
  /** Notes what decided about each token. */
  readonly decisions?: Decisions | undefined
  /** Where `use` sends the values. Absent: nowhere that is known, so tokens with destinations are denied. */
  readonly destination?: OutboundDestination | undefined
  /** For `use` by a proxied request: the surfaces into which it puts the token. Absent: any. */
  readonly surfacesOf?: ((id: string) => readonly Surface[]) | undefined
  /** Other surfaces that hold what they read of the body. */
  readonly copies?: readonly Surface[] | undefined
  /** The code that gets the values of the body, e.g. a request transform. */
  readonly code?: CodeScope | undefined
  /** The sender of the request holds no key: it sees nothing, whatever the grants that it uses allow. */
  readonly isAnonymous?: boolean | undefined
  /** Reads and lists show this of a token at most, whatever the grants allow. Absent: what they allow. */
  readonly maxDisclosure?: Exclude<Disclosure, 'reveal'> | undefined
}

/** Origin of a call: the holder of a key, or code of a proxy or a reactor that acts as an application. */
export type AccessBy = 'key' | 'transform' | 'reactor'

/** How grants let a caller use one permission on a token, as the call itself would (completions §16). */
export interface AccessDecision {
  readonly permission: TokenPermission
  /** The data of the response; `redact`: none. */
  readonly disclosure: Disclosure
  /** The deciding rule; absent: the plain permission. */
  readonly rule: AccessRule | undefined
}

/** Effect of a change of grants for one permission on tokens of one container. */
export interface AccessDifference {
  readonly container: string
  readonly permission: TokenPermission
  readonly from: Disclosure | 'none'
  readonly to: Disclosure | 'none'
  /** At most 10,000. */
  readonly tokens: number
  /** False: there may be more. */
  readonly exact: boolean
}

export interface AccessComparison {
  /** Differences by container; lines without one are left out. */
  readonly lines: readonly AccessDifference[]
  /** The comparison ended early: further containers may differ. */
  readonly more: boolean
}

/** Memory that a call holds. */
export interface Held {
  /** Releases it; idempotent. */
  release(): void
}

/** Work budget of one call, in units. */
export interface Work {
  /** Throws `invalid_expression` when the budget is exceeded. */
  use(units: number): void
}

/**
 * The tokens of a tenant under a caller's grants (completions §4–5). Each method checks the permission on each
 * container, and writes one audit record for each token before it returns. Another tenant's id is treated as unknown.
 * Errors: `invalid`, `forbidden`, `token_not_found`, `conflict`, `gateway_timeout`.
 */
export interface Vault {
  /** All or nothing, in order. */
  create(inputs: readonly TokenInput[], context: UseContext): Promise<readonly Token[]>
  get(id: string, context: UseContext): Promise<Token>
  /** `permission` is what the caller must hold for a token to be listed: token:read or token:search. */
  list(
    filter: TokenFilter,
    page: PageRequest,
    context: UseContext,
    permission?: TokenPermission,
  ): Promise<TokenPage>
  update(id: string, patch: TokenPatch, context: UseContext): Promise<Token>
  delete(id: string, context: UseContext): Promise<void>
  /** Interface "Token associations": `token:read` on both; `conflict` when it exists, `invalid` for one token twice. */
  associate(parentId: string, childId: string, context: UseContext): Promise<void>
  /** `token:delete` on both; `association_not_found` when there is no such association. */
  dissociate(parentId: string, childId: string, context: UseContext): Promise<void>
  /** Creates a child token: `token:create` on the child, `token:read` on the parent; both or neither are written. */
  createChild(parentId: string, input: TokenInput, context: UseContext): Promise<Token>
  /** Children that the caller may read; the parent too. */
  children(
    parentId: string,
    filter: Pick<TokenFilter, 'ids' | 'types'>,
    page: PageRequest,
    context: UseContext,
  ): Promise<TokenPage>
  /** Parents that the caller may read; the child too. */
  parents(childId: string, page: PageRequest, context: UseContext): Promise<TokenPage>
  /** Interface "Tokenize": the same shape, strings and definitions replaced. */
  tokenize(body: Json, context: UseContext): Promise<Json>
  /**
   * Any JSON holding expressions; each value disclosed by its rule for `permission`: `token:read` for callers
   * (completions §5 "/detokenize"), which is the default, `token:use` for code that works on the values (§8).
   */
  detokenize(body: Json, context: UseContext, permission?: 'token:read' | 'token:use'): Promise<Json>
  /**
   * Values for the expressions of an outgoing body (`token:use`; completions §6–7). One batched read for all ids.
   * Unknown ids are `invalid_expression`. Before any is decrypted, `destination_not_allowed` and `egress_only` for
   * values that may not go to `context.destination`. The audit records are in the journal when this resolves.
   */
  use(ids: readonly string[], context: UseContext): Promise<ReadonlyMap<string, UsedToken>>
  /**
   * The ids among these that are tokens of the caller's tenant, with their containers, whatever the caller may do with
   * them. Nothing is opened, disclosed or recorded (completions §13, closed surfaces; §18).
   */
  known(
    ids: readonly string[],
    context: Pick<UseContext, 'caller' | 'now'>,
  ): Promise<ReadonlyMap<string, string>>
  /**
   * How any grants let a caller use the token; permissions that they deny are left out. It is not opened, and nothing
   * is disclosed or recorded. `token_not_found`.
   */
  access(
    id: string,
    context: Pick<UseContext, 'caller' | 'now'>,
  ): Promise<(grants: Grants, by?: AccessBy) => readonly AccessDecision[]>
  /** Effects of other grants in the place of `from` for the tokens of the caller's tenant. None is opened. */
  compareAccess(
    from: Grants,
    to: Grants,
    context: Pick<UseContext, 'caller' | 'now'>,
  ): Promise<AccessComparison>
  /** Whether these tokens exist unchanged, by their seals: columns may have been edited. */
  areCurrent(states: readonly Omit<TokenState, 'until'>[], context: UseContext): Promise<boolean>
  /**
   * Previews `use` for each id, in order, with masked values (dry runs of the proxy). Nothing is used: disclosed masked
   * values are recorded as reads.
   */
  preview(ids: readonly string[], context: UseContext): Promise<readonly UsePreview[]>
}

/** A token whose `data` was disclosed by its rule: plaintext, masked, or null when redacted. */
export interface UsedToken {
  readonly id: string
  readonly type: string
  readonly data: Json
  readonly container: string
  /**
   * The sender may put the value into a request and not see it (completions §14): expressions take the complete value
   * only, since whether others fail would tell about it.
   */
  readonly isOpaque?: true
  /** No caller may read the value: the response guard covers it in any mode. */
  readonly isEgressOnly?: true
  /** The complete token as the API returns it, with this `data` (completions §6, `token: <id>`). */
  toToken(): Json
  /**
   * Throws `destination_not_allowed` when the token may not go to this path and query, which contain values in the
   * place of expressions. Absent: the uses of the token are not limited.
   */
  readonly checkPath?: (path: string) => void
}

/** `by`: the list that denies; null when the destination is allowed. */
export interface DestinationVerdict {
  readonly host: string
  readonly allowed: boolean
  readonly by: 'token' | 'rule' | 'application' | null
}

/** Preview of `use` for one id. `unknown`: the token does not exist; `denied`: no grant covers it. */
export type UsePreview =
  | { readonly kind: 'unknown' | 'denied'; readonly id: string }
  | {
      readonly kind: 'used'
      readonly id: string
      readonly disclosure: Disclosure
      /** The deciding rule; absent: the plain permission. */
      readonly rule?: AccessRule | undefined
      /** The token with masked data: null without a mask, or when redacted. */
      readonly token: UsedToken
      /** Whether its value may go to the destination of the call. */
      readonly destination?: DestinationVerdict | undefined
      /** The error of the call itself. */
      readonly rejection?: AppError | undefined
    }
