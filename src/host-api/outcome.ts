import { AppError } from '../common/errors.ts'
import { isConnectionHeader } from '../common/http-headers.ts'
import type { LimitName, Outcome } from '../sandbox/types.ts'

/** How an invocation ended that returned nothing. */
export type Failure = Exclude<Outcome, { readonly kind: 'returned' }>

const LIMIT_FAILURES: Readonly<Partial<Record<LimitName, (sentence: string) => AppError>>> = {
  overload: (sentence) => new AppError('overloaded', sentence, { retryAfter: 1 }),
  cancelled: (sentence) => new AppError('gateway_timeout', sentence),
  quarantine: (sentence) => new AppError('unprocessable', sentence),
}

/** Headers that describe the message itself, or the connection, are not for code to set. */
const isFraming = (name: string) => isConnectionHeader(name) || name.toLowerCase() === 'content-encoding'
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const UNPRINTABLE = /[^\t\x20-\x7e\x80-\xff]/

/** Headers that code may set on an answer of ours. */
const headersOf = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => HEADER.test(name) && !isFraming(name) && !UNPRINTABLE.test(value),
    ),
  )

const isStatus = (status: number | undefined): status is number =>
  status !== undefined && Number.isInteger(status) && status >= 200 && status <= 599

/** The first place in the code itself: `at reactor:3:7`. */
const placeOf = ([frame]: readonly string[]) => (frame === undefined ? '' : ` (${frame})`)

/**
 * What a failed invocation is to the caller (completions §7): what code throws is 400, or the status of the class thrown,
 * or an answer of its own; a limit is 400; code that cannot be used is 422. `name`: how its author knows it. `texts`:
 * whether the caller may read what the code threw, which may hold card data; it goes nowhere else.
 */
export const failureOf = (
  outcome: Failure,
  { name, texts }: { readonly name: string; readonly texts: boolean },
): AppError => {
  switch (outcome.kind) {
    case 'unusable':
      return new AppError(
        'unprocessable',
        texts
          ? `The ${name} cannot run: ${outcome.message}`
          : `The ${name} cannot run. Its owner has to correct it.`,
      )
    case 'limit': {
      const sentence = `The ${name} was stopped: ${outcome.message}`
      return LIMIT_FAILURES[outcome.limit]?.(sentence) ?? new AppError('code_failed', sentence)
    }
    case 'threw': {
      const { status, headers, body, message } = outcome
      const detail = texts
        ? `The ${name} threw ${outcome.name}: ${message}${placeOf(outcome.frames)}`
        : `The ${name} failed. Its owner can find out why.`
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
