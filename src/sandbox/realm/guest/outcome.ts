/** Reports the outcome of an invocation: once, whatever the code does afterwards. */
import type { RealmOutcome } from '../abi.ts'
import { hostDone, settings } from './bridge.ts'
import { printed } from './console-buffer.ts'
import { framesOf } from './frames.ts'
import {
  getPrototypeOf,
  isSafeInteger,
  jsonArray,
  NativeError,
  slice,
  stringify,
  text,
} from './intrinsics.ts'
import { CustomHttpResponseError, typedErrors } from './typed-errors.ts'

/** Reported characters of a thrown error's name and message. */
const NAME = 100
const MESSAGE = 2_000

let ended = false

const end = (head: string, result?: string) => {
  if (ended) return
  ended = true
  hostDone(`${slice(head, 0, -1)},"console":${printed()}}`, result)
}

// JSON is concatenated by hand: `toJSON` on Object.prototype could change it
const member = (name: keyof Extract<RealmOutcome, { kind: 'threw' }>, json: string | undefined): string =>
  json === undefined ? '' : `,"${name}":${json}`

const read = (error: object, name: 'name' | 'message', maxChars: number): string => {
  try {
    const value = (error as { readonly [name: string]: unknown })[name]
    return typeof value === 'string' ? slice(value, 0, maxChars) : ''
  } catch {
    return ''
  }
}

const classes = Object.values(typedErrors)

const isTyped = (error: object): boolean => {
  for (let each: object | null = error; each !== null; each = getPrototypeOf(each)) {
    if (each === CustomHttpResponseError.prototype) return true
    for (let i = 0; i < classes.length; i++) if (each === classes[i]?.prototype) return true
  }
  return false
}

const isCustom = (error: object): error is CustomHttpResponseError => error instanceof CustomHttpResponseError

/** Status, headers and body of a typed error; empty for other errors. */
const resultOf = (error: object): string => {
  try {
    if (!isTyped(error)) return ''
    const { status, headers, body } = error as Partial<CustomHttpResponseError>
    if (!isSafeInteger(status)) return ''
    const custom = isCustom(error)
    return (
      member('status', stringify(status)) +
      (custom ? member('headers', stringify(headers)) + member('body', stringify(body)) : '')
    )
  } catch {
    return ''
  }
}

const thrownText = (error: unknown): string => {
  try {
    return typeof error === 'object' || typeof error === 'function' ? (stringify(error) ?? '') : text(error)
  } catch {
    return ''
  }
}

const isError = (error: object): boolean => {
  try {
    return error instanceof NativeError
  } catch {
    return false
  }
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

const messageOf = (error: unknown): string => {
  if (!isObject(error)) return slice(thrownText(error), 0, MESSAGE)
  const message = read(error, 'message', MESSAGE)
  return message === '' && !isError(error) ? slice(thrownText(error), 0, MESSAGE) : message
}

const headOf = (error: unknown): string => {
  const name = isObject(error) ? read(error, 'name', NAME) : ''
  const frames = framesOf(error)
  for (let i = 0; i < frames.length; i++) frames[i] = stringify(frames[i])
  return `{"kind":"threw"${
    member('name', stringify(name || 'Error')) +
    member('message', stringify(messageOf(error))) +
    member('frames', jsonArray(frames)) +
    (isObject(error) ? resultOf(error) : '')
  }}`
}

/** The code threw, in its function or in a timer. */
export const fail = (error: unknown): void => end(headOf(error))

/** The code returned. */
export const succeed = (value: unknown): void => {
  let result: string | undefined
  try {
    result = stringify(value)
  } catch (error) {
    fail(error)
    return
  }
  const { resultChars } = settings()
  if (result === undefined || result.length <= resultChars) end('{"kind":"returned"}', result)
  else
    end(
      `{"kind":"limit","limit":"result","message":"The result has ${result.length} characters of JSON; ${resultChars} are allowed."}`,
    )
}
