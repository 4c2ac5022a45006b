import type { Json } from './json.ts'

const missing = (entity: string) => ({ status: 404, grpc: 5, title: `${entity} not found` })

/**
 * Table of errors (completions §2): HTTP status, gRPC status and title of each code. Clients match the code.
 * gRPC numbers: https://grpc.github.io/grpc/core/md_doc_statuscodes.html
 */
export const ERRORS = {
  malformed: { status: 400, grpc: 3, title: 'Malformed request' },
  invalid: { status: 400, grpc: 3, title: 'Validation failed' },
  invalid_expression: { status: 400, grpc: 3, title: 'Invalid expression' },
  invalid_surface: { status: 400, grpc: 3, title: 'Invalid surface' },
  expression_on_closed_surface: { status: 400, grpc: 3, title: 'Expression on a closed surface' },
  code_failed: { status: 400, grpc: 9, title: 'Code execution failed' },
  invalid_destination: { status: 400, grpc: 3, title: 'Invalid destination' },
  unauthenticated: { status: 401, grpc: 16, title: 'Unauthorized' },
  forbidden: { status: 403, grpc: 7, title: 'Forbidden' },
  denied_by_plugin: { status: 403, grpc: 7, title: 'Denied by a plugin' },
  destination_not_allowed: { status: 403, grpc: 7, title: 'Destination forbidden' },
  egress_only: { status: 403, grpc: 7, title: 'Value for proxies only' },
  origin_not_allowed: { status: 403, grpc: 7, title: 'Origin not allowed' },
  not_found: { status: 404, grpc: 5, title: 'Not found' },
  application_not_found: missing('Application'),
  association_not_found: missing('Association'),
  delivery_not_found: missing('Delivery'),
  formula_not_found: missing('Reactor formula'),
  invitation_not_found: missing('Invitation'),
  key_not_found: missing('Application key'),
  member_not_found: missing('Member'),
  proxy_not_found: missing('Proxy'),
  reactor_not_found: missing('Reactor'),
  result_not_found: missing('Result'),
  session_not_found: missing('Session'),
  tenant_not_found: missing('Tenant'),
  token_not_found: missing('Token'),
  webhook_not_found: missing('Webhook'),
  method_not_allowed: { status: 405, grpc: 12, title: 'Method not allowed' },
  proxy_authentication_required: { status: 407, grpc: 16, title: 'Proxy authentication required' },
  request_timeout: { status: 408, grpc: 4, title: 'Request timed out' },
  destination_timeout: { status: 408, grpc: 4, title: 'Destination timed out' },
  conflict: { status: 409, grpc: 6, title: 'Conflict' },
  precondition_failed: { status: 412, grpc: 9, title: 'Precondition failed' },
  too_large: { status: 413, grpc: 8, title: 'Body too large' },
  uri_too_long: { status: 414, grpc: 3, title: 'URI too long' },
  unsupported_media_type: { status: 415, grpc: 3, title: 'Unsupported media type' },
  misdirected: { status: 421, grpc: 3, title: 'Misdirected request' },
  unprocessable: { status: 422, grpc: 9, title: 'Unprocessable' },
  rate_limited: { status: 429, grpc: 8, title: 'Too many requests' },
  headers_too_large: { status: 431, grpc: 8, title: 'Headers too large' },
  internal: { status: 500, grpc: 13, title: 'Internal error' },
  destination_unreachable: { status: 502, grpc: 14, title: 'Destination unreachable' },
  bad_gateway: { status: 502, grpc: 14, title: 'Invalid upstream response' },
  value_in_response: { status: 502, grpc: 14, title: 'Value in the response' },
  response_unreadable: { status: 502, grpc: 14, title: 'Response unreadable' },
  overloaded: { status: 503, grpc: 14, title: 'Service unavailable' },
  check_unavailable: { status: 503, grpc: 14, title: 'Check unavailable' },
  gateway_timeout: { status: 504, grpc: 4, title: 'Gateway timeout' },
} as const

export type ErrorCode = keyof typeof ERRORS

/**
 * gRPC statuses of a `conflict` with a concurrent change, after which clients read again and repeat, and with the state
 * of the entity, which somebody has to change first.
 */
const CONFLICTS = { change: 10, state: 9 } as const

/** Sentences by property path, e.g. `{ 'data.number': ['must pass the Luhn check'] }`. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>

/** Error body of every response from 400 up (completions §2, RFC 9457). */
export interface Problem {
  /** Reference to the documentation of `code`, relative to the service. */
  readonly type: string
  readonly code: ErrorCode
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance?: string
  readonly errors?: FieldErrors
}

/** Problem of a code. `status` defaults to the table's. */
export const problemOf = (
  code: ErrorCode,
  detail: string,
  status: number = ERRORS[code].status,
): Problem => ({ type: `/docs/errors#${code}`, code, title: ERRORS[code].title, status, detail })

/** Response that a tenant's code chose for a failed call (completions §7). */
export interface CodeResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Body in place of a problem; a string is sent unchanged. */
  readonly body?: Json
}

/** The code of a system, engine or application error, e.g. `ENOENT`; `''` when there is none. */
export const codeOf = (thrown: unknown): string =>
  typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string'
    ? thrown.code
    : ''

interface AppErrorOptions {
  readonly response?: CodeResponse
  readonly errors?: FieldErrors
  /** Ids of the tokens that caused the error. Never sent: clients get locations in their body instead. */
  readonly tokens?: readonly string[]
  /** The effect may or may not have happened. */
  readonly uncertain?: boolean
  /**
   * What a `conflict` is with: a concurrent change (gRPC `ABORTED`), or the state of the entity
   * (`FAILED_PRECONDITION`). Default: an id or value in use (`ALREADY_EXISTS`).
   */
  readonly conflictWith?: keyof typeof CONFLICTS
  readonly cause?: unknown
  /** Seconds a client should wait, printed as `Retry-After`. */
  readonly retryAfter?: number
  /** Methods a 405 allows. */
  readonly allow?: readonly string[]
}

const INTERNAL_DETAIL =
  'The request failed inside the service. Retry; if it persists, give the trace id to the operator.'

/**
 * The one error class. `detail` states what was asked, what is wrong and what to do, with ids in quotes and never a
 * token's data, a key or a body. `cause` goes only to the log.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly errors: FieldErrors | undefined
  readonly tokens: readonly string[] | undefined
  readonly retryAfter: number | undefined
  readonly allow: readonly string[] | undefined
  readonly response: CodeResponse | undefined
  readonly uncertain: boolean
  readonly conflictWith: keyof typeof CONFLICTS | undefined

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.errors = options.errors
    this.tokens = options.tokens
    this.retryAfter = options.retryAfter
    this.allow = options.allow
    this.response = options.response
    this.uncertain = options.uncertain ?? false
    this.conflictWith = options.conflictWith
  }

  get status(): number {
    return this.response?.status ?? ERRORS[this.code].status
  }

  /**
   * gRPC status code of the table, or of `CONFLICTS`. When a tenant's code chose another HTTP status: of the first
   * error with that status.
   */
  get grpc(): number {
    const own = ERRORS[this.code]
    if (this.status === own.status) return this.conflictWith ? CONFLICTS[this.conflictWith] : own.grpc
    return Object.values(ERRORS).find(({ status }) => status === this.status)?.grpc ?? own.grpc
  }

  /** Any thrown value as an AppError; other errors become `internal` with a fixed detail. */
  static from(thrown: unknown): AppError {
    if (thrown instanceof AppError) return thrown
    return new AppError('internal', INTERNAL_DETAIL, { cause: thrown })
  }

  toProblem(): Problem {
    return {
      ...problemOf(this.code, this.message, this.status),
      ...(this.errors ? { errors: this.errors } : {}),
    }
  }
}

/** A validation failure at one or more property paths. */
export const invalid = (
  errors: FieldErrors,
  detail = 'One or more members of the request are not valid; see "errors".',
): AppError => new AppError('invalid', detail, { errors })

/** `conflict` with another change, or with a call in progress. */
export const concurrentChange = (
  detail: string,
  options: Pick<AppErrorOptions, 'retryAfter'> = {},
): AppError => new AppError('conflict', detail, { ...options, conflictWith: 'change' })

/** Validation issue at a property path; undefined: none. */
export type FieldIssue = readonly [path: string, sentence: string | undefined]

/** Throws `invalid` with all issues, unless there are none. */
export const throwIfInvalid = (issues: readonly FieldIssue[]): void => {
  const errors: Record<string, string[]> = {}
  for (const [path, sentence] of issues)
    if (sentence !== undefined) errors[path] = [...(errors[path] ?? []), sentence]
  if (Object.keys(errors).length > 0) throw invalid(errors)
}
