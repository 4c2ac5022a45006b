/** `AssertionError`, with the messages of Node. Of long values it shows every line. */
import { inspect } from '../inspect.ts'

interface Failure {
  readonly actual?: unknown
  readonly expected?: unknown
  readonly operator?: string
  readonly message?: unknown
  /** Calls above this function are not in the stack. */
  readonly stackStartFn?: (...args: never[]) => unknown
}

export const withCode = (message: string, code: string): TypeError =>
  Object.assign(new TypeError(message), { code })

/** A value in an error about its type. */
export const kindOf = (value: unknown): string => {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'function') return `function ${value.name}`
  if (typeof value === 'object') return `an instance of ${value.constructor?.name ?? 'Object'}`
  return `type ${typeof value} (${inspect(value)})`
}

export const wrongType = (name: string, wanted: string, value: unknown): TypeError =>
  withCode(`The "${name}" argument must be ${wanted}. Received ${kindOf(value)}`, 'ERR_INVALID_ARG_TYPE')

const show = (value: unknown): string =>
  inspect(value, {
    compact: false,
    customInspect: false,
    depth: 1000,
    maxArrayLength: Number.POSITIVE_INFINITY,
    breakLength: Number.POSITIVE_INFINITY,
    sorted: true,
    getters: true,
  })

const isObject = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

/** Longest pair of values that is shown in one line, without quotes. */
const SHORT = 12
const quotes = (value: unknown): number => (typeof value === 'string' ? 2 : 0)
const LONGEST_SIDE = 512

const cut = (text: string): string =>
  text.length > LONGEST_SIDE ? `${text.slice(0, LONGEST_SIDE - 3)}...` : text

const withoutComma = (line = ''): string => line.replace(/,$/, '')

/** Lines of both values: those that differ are marked, between those that they begin and end with. */
const difference = (actual: readonly string[], expected: readonly string[]): string => {
  const isSame = (a: number, b: number) => withoutComma(actual[a]) === withoutComma(expected[b])
  const shorter = Math.min(actual.length, expected.length)
  let start = 0
  while (start < shorter && isSame(start, start)) start++
  let end = 0
  while (end < shorter - start && isSame(actual.length - 1 - end, expected.length - 1 - end)) end++
  return [
    ...actual
      .slice(0, start)
      .map((line, at) => `  ${line.length < (expected[at] ?? '').length ? `${line},` : line}`),
    ...actual.slice(start, actual.length - end).map((line) => `+ ${line}`),
    ...expected.slice(start, expected.length - end).map((line) => `- ${line}`),
    ...actual.slice(actual.length - end).map((line) => `  ${line}`),
  ].join('\n')
}

const describeEqual = (actual: unknown, expected: unknown, operator: string): string => {
  const [left, right] = [show(actual), show(expected)]
  const bothObjects = isObject(actual) && isObject(expected)
  if (left === right && bothObjects)
    return `Values have same structure but are not reference-equal:\n\n${left}\n`
  const title =
    operator === 'deepStrictEqual'
      ? 'Expected values to be strictly deep-equal:'
      : bothObjects
        ? 'Expected "actual" to be reference-equal to "expected":'
        : 'Expected values to be strictly equal:'
  const length = left.length + right.length - quotes(actual) - quotes(expected)
  const isShort = length > 0 && length <= SHORT && !/\n/.test(left + right)
  if (isShort && !bothObjects && !(actual === 0 && expected === 0))
    return `${title}\n\n${left} !== ${right}\n`
  return `${title}\n+ actual - expected\n\n${difference(left.split('\n'), right.split('\n'))}\n`
}

const describeUnequal = (actual: unknown, operator: string): string => {
  const title =
    operator === 'notDeepStrictEqual'
      ? 'Expected "actual" not to be strictly deep-equal to:'
      : isObject(actual)
        ? 'Expected "actual" not to be reference-equal to "expected":'
        : 'Expected "actual" to be strictly unequal to:'
  const text = show(actual)
  return text.includes('\n') ? `${title}\n\n${text}\n` : `${title} ${text}`
}

const describe = ({ actual, expected, operator = '' }: Failure): string => {
  if (operator === 'strictEqual' || operator === 'deepStrictEqual')
    return describeEqual(actual, expected, operator)
  if (operator === 'notStrictEqual' || operator === 'notDeepStrictEqual')
    return describeUnequal(actual, operator)
  const [left, right] = [cut(show(actual)), cut(show(expected))]
  if (operator === 'deepEqual')
    return `Expected values to be loosely deep-equal:\n\n${left}\n\nshould loosely deep-equal\n\n${right}`
  if (operator !== 'notDeepEqual') return `${left} ${operator} ${right}`
  return left === right
    ? `Expected "actual" not to be loosely deep-equal to:\n\n${left}`
    : `Expected values not to be loosely deep-equal:\n\n${left}\n\nshould not loosely deep-equal\n\n${right}`
}

export class AssertionError extends Error {
  generatedMessage: boolean
  code = 'ERR_ASSERTION'
  actual: unknown
  expected: unknown
  operator: string | undefined

  constructor(options: Failure) {
    if (typeof options !== 'object' || options === null) throw wrongType('options', 'of type object', options)
    const { actual, expected, operator, message, stackStartFn } = options
    super(message === undefined || message === null ? describe(options) : String(message))
    this.generatedMessage = !message
    this.actual = actual
    this.expected = expected
    this.operator = operator
    const hidden = { enumerable: false, writable: true, configurable: true }
    Object.defineProperty(this, 'name', { value: 'AssertionError [ERR_ASSERTION]', ...hidden })
    // The first line of a stack has the code too.
    Error.captureStackTrace(this, stackStartFn)
    Object.defineProperty(this, 'name', { value: 'AssertionError', ...hidden })
  }

  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}`
  }
}

interface Failed extends Omit<Failure, 'stackStartFn'> {
  /** True if the message is not the caller's. */
  readonly generated?: boolean
}

/** Throws the caller's error, or an AssertionError whose stack begins at the caller. */
export const throwFailed = (
  from: NonNullable<Failure['stackStartFn']>,
  { generated, ...failed }: Failed,
): never => {
  if (failed.message instanceof Error) throw failed.message
  const error = new AssertionError({ ...failed, stackStartFn: from })
  if (generated !== undefined) error.generatedMessage = generated
  throw error
}
