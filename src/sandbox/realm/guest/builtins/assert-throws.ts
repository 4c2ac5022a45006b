/** `assert.throws` and its kin. */
import { inspect } from '../inspect.ts'
import { AssertionError, kindOf, throwFailed, withCode, wrongType } from './assertion-error.ts'
import { isDeepStrictEqual } from './deep-equal.ts'

type Method = (...args: never[]) => unknown
type Message = string | Error | undefined

const types: Readonly<Record<string, (value: unknown) => boolean>> = require('node:util/types')

/** Result of code that threw nothing. */
const NOTHING = {}

const thrownBy = (run: unknown): unknown => {
  if (typeof run !== 'function') throw wrongType('fn', 'of type function', run)
  try {
    run()
    return NOTHING
  } catch (error) {
    return error
  }
}

const isPromise = (value: unknown): value is Promise<unknown> => {
  const { then, catch: catches } = (value ?? {}) as Partial<Promise<unknown>>
  return typeof value === 'object' && typeof then === 'function' && typeof catches === 'function'
}

const rejectionOf = async (source: unknown): Promise<unknown> => {
  if (typeof source !== 'function' && !isPromise(source))
    throw wrongType('promiseFn', 'of type function or an instance of Promise', source)
  const promise: unknown = typeof source === 'function' ? source() : source
  if (!isPromise(promise))
    throw withCode(
      `Expected instance of Promise to be returned from the "promiseFn" function but got ${kindOf(promise)}.`,
      'ERR_INVALID_RETURN_VALUE',
    )
  try {
    await promise
    return NOTHING
  } catch (error) {
    return error
  }
}

const matches = (expected: unknown, text: unknown): boolean =>
  types.isRegExp!(expected) && typeof text === 'string' && (expected as RegExp).test(text)

/** Members of an error that are compared; messages show the name of the class. */
class Comparison {
  readonly [key: string]: unknown

  constructor(value: object, keys: readonly string[]) {
    for (const key of keys)
      if (key in value) Object.defineProperty(this, key, { value: Reflect.get(value, key), enumerable: true })
  }
}

const differenceOf = (actual: unknown, expected: unknown): string =>
  new AssertionError({ actual, expected, operator: 'deepStrictEqual' }).message

/** An object describes an error by its members; members that are regular expressions match texts. */
const memberMismatch = (actual: unknown, expected: object): string | undefined => {
  if (typeof actual !== 'object' || actual === null) return differenceOf(actual, expected)
  const keys = Object.keys(expected)
  if (expected instanceof Error) keys.push('name', 'message')
  if (keys.length === 0)
    throw withCode(
      `The argument 'error' may not be an empty object. Received ${inspect(expected)}`,
      'ERR_INVALID_ARG_VALUE',
    )
  const wanted = new Comparison(expected, keys)
  const found = new Comparison(actual, keys)
  const isSame = (key: string) =>
    key in actual && (matches(wanted[key], found[key]) || isDeepStrictEqual(found[key], wanted[key]))
  return keys.every(isSame) ? undefined : differenceOf(found, wanted)
}

/** Why the error is not as expected; undefined if it is. */
const mismatch = (actual: unknown, expected: object): string | undefined => {
  if (types.isRegExp!(expected))
    return matches(expected, String(actual))
      ? undefined
      : `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(actual))}\n`
  if (typeof expected !== 'function') return memberMismatch(actual, expected)
  if (expected.prototype !== undefined && actual instanceof expected) return undefined
  if (Object.prototype.isPrototypeOf.call(Error, expected)) {
    const received =
      actual instanceof Error
        ? `"${actual.constructor.name}"\n\nError message:\n\n${actual.message}`
        : `"${inspect(actual, { depth: -1 })}"`
    return `The error is expected to be an instance of "${expected.name}". Received ${received}`
  }
  const verdict = Reflect.apply(expected, {}, [actual])
  if (verdict === true) return undefined
  const name = expected.name ? `"${expected.name}" ` : ''
  return `The ${name}validation function is expected to return "true". Received ${inspect(verdict)}\n\nCaught error:\n\n${actual}`
}

const requireThrown = (from: Method, kind: string, actual: unknown, args: readonly unknown[]): void => {
  const [given, second] = args
  const isText = typeof given === 'string'
  if (isText ? args.length > 1 : given != null && typeof given !== 'object' && typeof given !== 'function')
    throw wrongType('error', 'of type function or an instance of Error, RegExp, or Object', given)
  if (isText && (actual === given || (actual as Partial<Error> | null)?.message === given))
    throw withCode(
      `The "error/message" argument is ambiguous. The error message "${given}" is identical to the message.`,
      'ERR_AMBIGUOUS_ARGUMENT',
    )
  const expected = isText ? undefined : given
  const message = (isText ? given : second) as Message
  if (actual === NOTHING) {
    const name = (expected as { readonly name?: string } | undefined)?.name
    throwFailed(from, {
      actual: undefined,
      expected,
      operator: from.name,
      message: `Missing expected ${kind}${name ? ` (${name})` : ''}${message ? `: ${message}` : '.'}`,
      generated: false,
    })
  }
  const reason = expected ? mismatch(actual, expected) : undefined
  if (reason !== undefined)
    throwFailed(from, {
      actual,
      expected,
      operator: from.name,
      message: message ?? reason,
      generated: message === undefined,
    })
}

const requireNothing = (from: Method, kind: string, actual: unknown, args: readonly unknown[]): void => {
  if (actual === NOTHING) return
  const [given, second] = args
  const expected = typeof given === 'string' ? undefined : given
  const message = typeof given === 'string' ? given : second
  if (expected && typeof expected !== 'function' && !types.isRegExp!(expected))
    throw wrongType('expected', 'of type function or an instance of RegExp', expected)
  if (expected && mismatch(actual, expected) !== undefined) throw actual
  throwFailed(from, {
    actual,
    expected,
    operator: from.name,
    message: `Got unwanted ${kind}${message ? `: ${message}` : '.'}\nActual message: "${(actual as Partial<Error> | null)?.message}"`,
    generated: false,
  })
}

export function throws(run: unknown, ...args: unknown[]): void {
  requireThrown(throws, 'exception', thrownBy(run), args)
}

export function doesNotThrow(run: unknown, ...args: unknown[]): void {
  requireNothing(doesNotThrow, 'exception', thrownBy(run), args)
}

export async function rejects(source: unknown, ...args: unknown[]): Promise<void> {
  requireThrown(rejects, 'rejection', await rejectionOf(source), args)
}

export async function doesNotReject(source: unknown, ...args: unknown[]): Promise<void> {
  requireNothing(doesNotReject, 'rejection', await rejectionOf(source), args)
}
