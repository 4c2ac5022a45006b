/** Errors with which code sets the status of the response (completions §7 "Typed errors"). */
import { isInteger, NativeError } from './intrinsics.ts'

type Details = string | Error | Readonly<Record<string, unknown>> | undefined

const messageOf = (details: Details, otherwise: string): string => {
  if (typeof details === 'string') return details
  const message = details?.message
  return typeof message === 'string' ? message : otherwise
}

/** Base class. Created from a message, an error, or an object of messages by property. */
export class ReactorError extends NativeError {
  status = 400
  readonly data: unknown

  constructor(details?: Details, otherwise = 'The code reported an error') {
    super(messageOf(details, otherwise))
    this.data = details instanceof NativeError ? undefined : details
  }
}

export class BadRequestError extends ReactorError {
  override status = 400
  constructor(details?: Details) {
    super(details, 'Bad request')
  }
}

export class AuthenticationError extends ReactorError {
  override status = 401
  constructor(details?: Details) {
    super(details, 'Authentication failed')
  }
}

export class InvalidPaymentMethodError extends ReactorError {
  override status = 402
  constructor(details?: Details) {
    super(details, 'Invalid payment method')
  }
}

export class AuthorizationError extends ReactorError {
  override status = 403
  constructor(details?: Details) {
    super(details, 'Forbidden')
  }
}

export class RateLimitError extends ReactorError {
  override status = 429
  constructor(details?: Details) {
    super(details, 'Too many requests')
  }
}

export class ReactorRuntimeError extends ReactorError {
  override status = 500
  constructor(details?: Details) {
    super(details, 'The code failed')
  }
}

interface CustomResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** A complete response: status, headers and body. Throws unless `status` is an integer of 100–599. */
export class CustomHttpResponseError extends ReactorError {
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown

  constructor({ status, headers = {}, body = {} }: CustomResponse) {
    super(undefined, 'Custom response')
    if (!isInteger(status) || status < 100 || status > 599)
      throw new NativeError('status is not a valid integer')
    this.status = status
    this.headers = headers
    this.body = body
  }
}

export const typedErrors = {
  BadRequestError,
  AuthenticationError,
  InvalidPaymentMethodError,
  AuthorizationError,
  RateLimitError,
  ReactorRuntimeError,
}

for (const [name, Class] of Object.entries({ ReactorError, ...typedErrors, CustomHttpResponseError }))
  Object.defineProperty(Class.prototype, 'name', { value: name, configurable: true, writable: true })

const BY_STATUS = Object.values(typedErrors).map((Class) => ({ Class, status: new Class().status }))

/** Class for a status of the service's errors; the base class for other statuses. */
export const classForStatus = (status: number): (new (details: string) => ReactorError) => {
  for (let i = 0; i < BY_STATUS.length; i++) if (BY_STATUS[i]?.status === status) return BY_STATUS[i]!.Class
  return ReactorError
}
