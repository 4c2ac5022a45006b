/** `util`. */

import { print } from '../console-buffer.ts'
import { format, formatWithOptions, inspect, stripVTControlCharacters } from '../inspect.ts'
import { TextDecoder, TextEncoder } from '../text-coding.ts'
import { queueMicrotask } from '../timers.ts'
import { isDeepStrictEqual } from './deep-equal.ts'

type Callback = (error: unknown, value?: unknown) => void
type Method = (...args: unknown[]) => unknown

const types: Readonly<Record<string, (value: unknown) => boolean>> = require('node:util/types')

const CUSTOM = Symbol.for('nodejs.util.promisify.custom')

const mustBe = (value: unknown, name: string): Method => {
  if (typeof value === 'function') return value as Method
  throw Object.assign(
    new TypeError(`The "${name}" argument must be of type function. Received ${inspect(value)}`),
    {
      code: 'ERR_INVALID_ARG_TYPE',
    },
  )
}

const promisify = (original: unknown) => {
  const run = mustBe(original, 'original')
  const own = (run as { readonly [CUSTOM]?: unknown })[CUSTOM]
  if (typeof own === 'function') return own
  const promising = function (this: unknown, ...args: unknown[]) {
    return new Promise((resolve, reject) => {
      const done: Callback = (error, value) => (error ? reject(error) : resolve(value))
      Reflect.apply(run, this, [...args, done])
    })
  }
  Object.setPrototypeOf(promising, Object.getPrototypeOf(run))
  return Object.defineProperties(promising, Object.getOwnPropertyDescriptors(run))
}
promisify.custom = CUSTOM

const callbackify = (original: unknown) => {
  const run = mustBe(original, 'original')
  return function (this: unknown, ...args: unknown[]): void {
    const done = mustBe(args.pop(), 'last argument')
    const promise = Reflect.apply(run, this, args) as Promise<unknown>
    promise.then(
      (value) => queueMicrotask(() => done(null, value)),
      (error) => queueMicrotask(() => done(error ?? new Error('Promise was rejected with falsy value'))),
    )
  }
}

const inherits = (derived: { prototype: object }, base: { prototype: object }): void => {
  Object.defineProperty(derived, 'super_', { value: base, configurable: true, writable: true })
  Object.setPrototypeOf(derived.prototype, base.prototype)
}

const deprecate = (method: Method, message: string): Method => {
  let reported = false
  return function (this: unknown, ...args: unknown[]) {
    if (!reported) print('warn', `DeprecationWarning: ${message}`)
    reported = true
    return Reflect.apply(method, this, args)
  }
}

const silent = () => Object.assign(() => {}, { enabled: false })

const is = (type: string) => (value: unknown) => typeof value === type

export const builtin = {
  callbackify,
  debug: silent,
  debuglog: silent,
  deprecate,
  format,
  formatWithOptions,
  inherits,
  inspect,
  isArray: Array.isArray,
  isBoolean: is('boolean'),
  isBuffer: (value: unknown): boolean => value instanceof Uint8Array && value.constructor.name === 'Buffer',
  isDate: types.isDate,
  isDeepStrictEqual,
  isError: types.isNativeError,
  isFunction: is('function'),
  isNull: (value: unknown): boolean => value === null,
  isNullOrUndefined: (value: unknown): boolean => value === null || value === undefined,
  isNumber: is('number'),
  isObject: (value: unknown): boolean => typeof value === 'object' && value !== null,
  isPrimitive: (value: unknown): boolean => Object(value) !== value,
  isRegExp: types.isRegExp,
  isString: is('string'),
  isSymbol: is('symbol'),
  isUndefined: is('undefined'),
  promisify,
  stripVTControlCharacters,
  TextDecoder,
  TextEncoder,
  toUSVString: (text: unknown): string => String(text).toWellFormed(),
  types,
}
