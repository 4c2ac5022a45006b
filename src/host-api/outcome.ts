import { AppError } from '../common/errors.ts'
import { isConnectionHeader } from '../common/http-headers.ts'
import type { LimitName, Outcome } from '../sandbox/types.ts'

/** Outcome of an invocation that did not return. */
type Failure = Exclude<Outcome, { readonly kind: 'returned' }>

const LIMIT_FAILURES: Readonly<Partial<Record<LimitName, (sentence: string) => AppError>>> = {
  interrupted: (sentence) => new AppError('overloaded', sentence, { retryAfter: 1 }),
  overload: (sentence) => new AppError('overloaded', sentence, { retryAfter: 1 }),
  cancelled: (sentence) => new AppError('gateway_timeout', sentence),
  quarantine: (sentence) => new AppError('unprocessable', sentence),
}

const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const UNPRINTABLE = /[^\t\x20-\x7e\x80-\xff]/

/** Maximum headers of an error, and characters of them; as of transforms (gateway/transform/headers.ts). */
const MAX_LINES = 100
const MAX_CHARACTERS = 32_768

const OWN = new Set(['content-encoding', 'server', 'x-forwarded-proto'])
const OWN_PREFIXES = ['x-envoy-', 'x-sidevault-']

/** Headers that code may not set: of the connection, of framing, and of the service. */
const isHidden = (name: string, headerPrefixes: readonly string[]): boolean => {
  const lower = name.toLowerCase()
  return (
    isConnectionHeader(lower) ||
    OWN.has(lower) ||
    OWN_PREFIXES.some((prefix) => lower.startsWith(prefix)) ||
    headerPrefixes.some((prefix) => lower.startsWith(`${prefix.toLowerCase()}-`))
  )
}

/** Valid headers that code may set on a response of Sidevault. Undefined when there are too many. */
const headersOf = (
  headers: Readonly<Record<string, string>>,
  headerPrefixes: readonly string[],
): Record<string, string> | undefined => {
  const entries = Object.entries(headers).filter(
    ([name, value]) => HEADER.test(name) && !isHidden(name, headerPrefixes) && !UNPRINTABLE.test(value),
  )
  const characters = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  return entries.length > MAX_LINES || characters > MAX_CHARACTERS ? undefined : Object.fromEntries(entries)
}

const isStatus = (status: number | undefined): status is number =>
  status !== undefined && Number.isInteger(status) && status >= 200 && status <= 599

/** First frame in the code itself: `at reactor:3:7`. */
const placeOf = ([frame]: readonly string[]) => (frame === undefined ? '' : ` (${frame})`)

/**
 * Error of a failed invocation (completions §7). Thrown errors are 400, or have the status or response of their class;
 * a limit is 400; unusable code is 422. `name`: the program's name for its author. `exposeErrorMessages`: whether the
 * caller may read the thrown message, which may contain card data. `headerPrefixes`: those of the service, whose
 * headers code cannot set.
 */
export const failureOf = (
  outcome: Failure,
  {
    name,
    exposeErrorMessages,
    headerPrefixes = [],
  }: {
    readonly name: string
    readonly exposeErrorMessages: boolean
    readonly headerPrefixes?: readonly string[] | undefined
  },
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
      const shown = headers && headersOf(headers, headerPrefixes)
      if (headers !== undefined && shown === undefined)
        return new AppError(
          'code_failed',
          `The ${name} threw an error with more than ${MAX_LINES} headers, or more than ${MAX_CHARACTERS / 1024} KiB of them. Set fewer.`,
        )
      return new AppError('code_failed', detail, {
        response: {
          status,
          ...(shown === undefined ? {} : { headers: shown }),
          ...(body === undefined ? {} : { body }),
        },
      })
    }
  }
}
