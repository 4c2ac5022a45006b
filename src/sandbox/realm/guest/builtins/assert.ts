/** `assert`: the functions of Node 16 except `CallTracker`. */
import { inspect } from '../inspect.ts'
import { doesNotReject, doesNotThrow, rejects, throws } from './assert-throws.ts'
import { AssertionError, kindOf, throwFailed, withCode, wrongType } from './assertion-error.ts'
import { isDeepEqual, isDeepStrictEqual } from './deep-equal.ts'

type Method = (...args: never[]) => unknown

const types: Readonly<Record<string, (value: unknown) => boolean>> = require('node:util/types')

const requireTruthy = (from: Method, args: readonly unknown[]): void => {
  const [actual, given] = args
  if (actual) return
  const generated = args.length === 0
  const message = generated ? 'No value argument passed to `assert.ok()`' : given
  throwFailed(from, {
    actual,
    expected: true,
    operator: '==',
    message,
    generated: generated || given === undefined,
  })
}

/** The comparison of this name, in errors `operator`, which passes when `passes` is true for both values. */
const comparison = (name: string, passes: (a: unknown, b: unknown) => boolean, operator = name) => {
  const compare = (...args: unknown[]): void => {
    const [actual, expected, message] = args
    if (args.length < 2)
      throw withCode('The "actual" and "expected" arguments must be specified', 'ERR_MISSING_ARGS')
    if (!passes(actual, expected)) throwFailed(compare, { actual, expected, message, operator })
  }
  return Object.defineProperty(compare, 'name', { value: name })
}

const looselyEqual = (a: unknown, b: unknown): boolean =>
  // biome-ignore lint/suspicious/noDoubleEquals: the loose comparison is this operator
  a == b || (Number.isNaN(a) && Number.isNaN(b))

function fail(...args: [actual?: unknown, expected?: unknown, message?: unknown, operator?: string]): never {
  const [actual, expected, message, operator] = args
  if (args.length > 1)
    return throwFailed(fail, {
      actual,
      expected,
      message,
      operator: operator ?? (args.length === 2 ? '!=' : 'fail'),
    })
  return throwFailed(fail, {
    actual: undefined,
    expected: undefined,
    operator: 'fail',
    message: actual ?? 'Failed',
    generated: actual === undefined,
  })
}

function ifError(value: unknown): void {
  if (value === null || value === undefined) return
  const { message } = Object(value) as Partial<Error>
  const described =
    typeof value === 'object' && typeof message === 'string'
      ? message || value.constructor.name
      : inspect(value)
  throwFailed(ifError, {
    actual: value,
    expected: null,
    operator: 'ifError',
    message: `ifError got unwanted exception: ${described}`,
    generated: false,
  })
}

const matching = (name: string, wanted: boolean) => {
  const phrase = wanted ? 'did not match' : 'was expected to not match'
  const check = (text: unknown, pattern: unknown, message?: unknown): void => {
    if (!types.isRegExp!(pattern)) throw wrongType('regexp', 'an instance of RegExp', pattern)
    if (typeof text === 'string' && (pattern as RegExp).test(text) === wanted) return
    const generated =
      typeof text === 'string'
        ? `The input ${phrase} the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`
        : `The "string" argument must be of type string. Received ${kindOf(text)}`
    throwFailed(check, {
      actual: text,
      expected: pattern,
      operator: name,
      message: message || generated,
      generated: !message,
    })
  }
  return Object.defineProperty(check, 'name', { value: name })
}

const strictEqual = comparison('strictEqual', Object.is)
const deepStrictEqual = comparison('deepStrictEqual', isDeepStrictEqual)
const notStrictEqual = comparison('notStrictEqual', (a, b) => !Object.is(a, b))
const notDeepStrictEqual = comparison('notDeepStrictEqual', (a, b) => !isDeepStrictEqual(a, b))

function ok(...args: unknown[]): void {
  requireTruthy(ok, args)
}
function strict(...args: unknown[]): void {
  requireTruthy(strict, args)
}

const shared = {
  AssertionError,
  ok,
  fail,
  deepStrictEqual,
  notDeepStrictEqual,
  strictEqual,
  notStrictEqual,
  throws,
  rejects,
  doesNotThrow,
  doesNotReject,
  ifError,
  match: matching('match', true),
  doesNotMatch: matching('doesNotMatch', false),
  strict,
}

Object.assign(strict, shared, {
  equal: strictEqual,
  deepEqual: deepStrictEqual,
  notEqual: notStrictEqual,
  notDeepEqual: notDeepStrictEqual,
})

export const builtin = Object.assign(ok, shared, {
  equal: comparison('equal', looselyEqual, '=='),
  notEqual: comparison('notEqual', (a, b) => !looselyEqual(a, b), '!='),
  deepEqual: comparison('deepEqual', isDeepEqual),
  notDeepEqual: comparison('notDeepEqual', (a, b) => !isDeepEqual(a, b)),
})
