import { AppError } from '../common/errors.ts'
import { isConnectionHeader } from '../common/http-headers.ts'
import type { LimitName, Outcome } from '../sandbox/types.ts'

/** Outcome of an invocation that did not return. */
export type Failure = Exclude<Outcome, { readonly kind: 'returned' }>

const LIMIT_FAILURES: Readonly<Partial<Record<LimitName, (sentence: string) => AppError>>> = {
  overload: (sentence) => new AppError('overloaded', sentence, { retryAfter: 1 }),
  cancelled: (sentence) => new AppError('gateway_timeout', sentence),
  quarantine: (sentence) => new AppError('unprocessable', sentence),
}

/** Connection and framing headers, which code may not set. */
const isFraming = (name: string) => isConnectionHeader(name) || name.toLowerCase() === 'content-encoding'
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const UNPRINTABLE = /[^\t\x20-\x7e\x80-\xff]/

/** Valid headers that code may set on a response of Sidevault. */
const headersOf = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => HEADER.test(name) && !isFraming(name) && !UNPRINTABLE.test(value),
    ),
  )

const isStatus = (status: number | undefined): status is number =>
  status !== undefined && Number.isInteger(status) && status >= 200 && status <= 599

/** First frame in the code itself: `at reactor:3:7`. */
const placeOf = ([frame]: readonly string[]) => (frame === undefined ? '' : ` (${frame})`)

/**
 * Error of a failed invocation (completions §7). Thrown errors are 400, or have the status or response of their class;
 * a limit is 400; unusable code is 422. `name`: the program's name for its author. `exposeErrorMessages`: whether the caller may read
 * the thrown message, which may contain card data.
 */
export const failureOf = (
  outcome: Failure,
  { name, exposeErrorMessages }: { readonly name: string; readonly exposeErrorMessages: boolean },
): AppError => {
  switch (outcome.kind) {
    case 'unusable':
      return new AppError(
        'unprocessable',
        exposeErrorMessages
          ? `The ${name} cannot run: ${outcome.message}`
          : `The ${name} cannot run. Its owner has to correct it.`,
      )
    case 'limit': {
      const sentence = `The ${name} was stopped: ${outcome.message}`
      return LIMIT_FAILURES[outcome.limit]?.(sentence) ?? new AppError('code_failed', sentence)
    }
    case 'threw': {
      const { status, headers, body, message } = outcome
      const detail = exposeErrorMessages
        ? `The ${name} threw ${outcome.name}: ${message}${placeOf(outcome.frames)}`
        : `The ${name} failed. Its owner can see the error in a test run.`
      if (!isStatus(status)) return new AppError('code_failed', detail)
      return new AppError('code_failed', detail, {
        response: {
          status,
          ...(headers === undefined ? {} : { headers: headersOf(headers) }),
          ...(body === undefined ? {} : { body }),
        },
      })
    }
  }
}
