/** `structuredClone` for types of the language. */

const uncloneable = (value: unknown): Error =>
  Object.assign(new Error(`${typeof value === 'symbol' ? 'A symbol' : 'A function'} could not be cloned.`), {
    name: 'DataCloneError',
    code: 25,
  })

const ERRORS: Readonly<Record<string, new (message: string) => Error>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
}

const cloneError = (error: Error): Error => {
  const Class = Object.hasOwn(ERRORS, error.name) ? ERRORS[error.name]! : Error
  const copy = new Class(error.message)
  Object.defineProperty(copy, 'stack', { value: error.stack, configurable: true, writable: true })
  return copy
}

const clone = (value: unknown, seen: Map<object, unknown>): unknown => {
  if (typeof value === 'function' || typeof value === 'symbol') throw uncloneable(value)
  if (typeof value !== 'object' || value === null) return value
  if (seen.has(value)) return seen.get(value)
  const remember = <T>(copy: T): T => {
    seen.set(value, copy)
    return copy
  }
  if (value instanceof Date) return remember(new Date(value.getTime()))
  if (value instanceof RegExp) return remember(new RegExp(value.source, value.flags))
  if (value instanceof ArrayBuffer) return remember(value.slice(0))
  if (value instanceof DataView)
    return remember(
      new DataView(clone(value.buffer, seen) as ArrayBuffer, value.byteOffset, value.byteLength),
    )
  if (ArrayBuffer.isView(value)) {
    const array = value as Uint8Array
    const name = (Object.getPrototypeOf(Uint8Array.prototype) as object) && array[Symbol.toStringTag]
    const Typed = (globalThis as unknown as Record<string, typeof Uint8Array>)[name] ?? Uint8Array
    return remember(new Typed(clone(array.buffer, seen) as ArrayBuffer, array.byteOffset, array.length))
  }
  if (value instanceof Error) return remember(cloneError(value))
  if (value instanceof Number || value instanceof String || value instanceof Boolean)
    return remember(Object(value.valueOf()))
  if (value instanceof Map) {
    const copy = remember(new Map())
    for (const [key, each] of value) copy.set(clone(key, seen), clone(each, seen))
    return copy
  }
  if (value instanceof Set) {
    const copy = remember(new Set())
    for (const each of value) copy.add(clone(each, seen))
    return copy
  }
  const copy: object = remember(Array.isArray(value) ? (new Array(value.length) as never) : {})
  // assigning `__proto__` would set the prototype
  for (const [name, each] of Object.entries(value))
    Object.defineProperty(copy, name, {
      value: clone(each, seen),
      configurable: true,
      enumerable: true,
      writable: true,
    })
  return copy
}

export const structuredClone = (value: unknown): unknown => clone(value, new Map())
