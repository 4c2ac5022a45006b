import type { Static, TSchema } from 'typebox'
import type { ErrorCode, FieldErrors } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import type { Caller, Permission } from './access.ts'
import type { CodeScope } from './destinations.ts'
import type { Decisions, Held, UsedTokens } from './vault.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Context of one invocation. */
export interface Call {
  readonly caller: Caller
  readonly traceId: string
  readonly signal: AbortSignal
  /** ms since the epoch, read once per call. */
  readonly now: number
  readonly log: Log
  /** Depth: runs of tenants' code that led to this call; 0 for a client's call. */
  readonly depth: number
  /** Tokens whose data the call was given. Its stored output is deleted with them. */
  readonly used: UsedTokens
  /** Notes what decided about each token. */
  readonly decisions: Decisions
  /** The code that makes the call; absent: a client. */
  readonly code?: CodeScope | undefined
  /** Registers memory that the call holds of the tenants' shared budget: released when its response is sent. */
  readonly hold: (held: Held) => void
}

/**
 * Callers of an operation that needs no permission: all, those with a valid key, or applications of one type with
 * theirs. A public key is every visitor's, so idempotency keys mean nothing to what only it may call.
 */
export type KeyClass = 'none' | 'any key' | 'public key' | 'private key'

/** The audit record of an operation: entity type and verb. `entity_id` is the output's or input's `id`. */
export interface AuditDeclaration {
  readonly entity: string
  readonly verb: string
  /** Log message, ≤ 250 characters, e.g. "Application created". Default: title-cased entity and verb. */
  readonly message?: string
  /** The entity's id, when it is not the `id` of output or input. */
  readonly id?: (call: Call, input: unknown, output: unknown) => string
}

/** Since when an operation is deprecated (RFC 9745), and by what it is replaced. */
export interface Deprecation {
  /** `YYYY-MM-DD`, UTC. */
  readonly since: string
  /** `http` of the operation to use. */
  readonly replacedBy: `${Method} /${string}`
}

/** An error response: status and title are those of the code. */
export interface FailureExample {
  readonly code: ErrorCode
  readonly detail: string
  readonly errors?: FieldErrors
}

/**
 * An example call for the documentation: input and response. The kernel checks at start that they fit the schemas. Ids
 * are made up, card numbers are test numbers of the networks.
 */
export type Example = {
  /** Short description; unique within its operation. */
  readonly summary: string
  readonly input: unknown
} & ({ readonly output: unknown } | { readonly error: FailureExample })

/**
 * An operation: one declaration → HTTP route, gRPC method, OpenAPI path, validation, permission and audit record.
 *
 * Schemas are typebox objects; every property carries `field: <n>`, its proto field number, never reused
 * (see `field()`). An object schema's `title` in PascalCase names its proto message, one for the whole service; without
 * one it is called after the operation and the member. A list or map of such objects refers to it. Input members come
 * from the path (`{name}`), and else from the query (GET, DELETE) or the body.
 */
export interface Operation<I extends TSchema = TSchema, O extends TSchema = TSchema> {
  /** `Service.Method`, e.g. `Applications.Create`. */
  readonly rpc: string
  readonly http: `${Method} /${string}`
  readonly summary: string
  readonly description?: string
  /** Another operation replaces it. It works as before. */
  readonly deprecated?: Deprecation
  /** A permission the caller must hold somewhere (token permissions: on at least one container), or a wider class. */
  readonly permission: Permission | KeyClass
  readonly audit: AuditDeclaration | 'none'
  readonly input: I
  readonly output: O
  /** The input member that is the complete request body (as in google.api.http). Default: each member by itself. */
  readonly body?: string
  /** Request body content types besides application/json. */
  readonly consumes?: readonly string[]
  /**
   * `run` validates its input by the schema itself, and throws `invalid`; the kernel copies only declared members.
   * Default: the kernel validates.
   */
  readonly validatedBy?: 'run'
  /** A GET that returns its output once: HEAD, which would consume it, is 405. */
  readonly singleRead?: boolean
  /** The output member that is the complete response body, e.g. a bare array. */
  readonly responseBody?: string
  /** Default 200; 204 sends no body; 201 carries `Location` built by `location`. */
  readonly status?: 200 | 201 | 202 | 204
  /** The status of this response, where it varies. */
  readonly statusOf?: (output: Static<O>) => 200 | 202
  /** Path of the created entity, relative to the base URL. */
  readonly location?: (output: Static<O>) => string
  /** True when the operation runs code of the tenant, which may set status and body of a response from 400 up. */
  readonly runsCode?: boolean
  /**
   * Members of the output that hold a new key, or what code returned. A repeated response (idempotency keys) has them
   * for ten minutes.
   */
  readonly transient?: readonly string[]
  /** Error codes besides those of method, path, schemas and permission. For the documentation. */
  readonly errors?: readonly ErrorCode[]
  readonly examples?: readonly Example[]
  run(input: Static<I>, call: Call): Promise<Static<O>>
}
