/** Deep equality, as `assert` and `util.isDeepStrictEqual` of Node define it. */

const types: Readonly<Record<string, (value: unknown) => boolean>> = require('node:util/types')

type Is = (value: unknown) => boolean

/** One comparison: whether it is strict, and the pairs that are being compared, which ends cycles. */
interface Comparison {
  readonly strict: boolean
  readonly left: Map<unknown, number>
  readonly right: Map<unknown, number>
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const tagOf = (value: object): string => Object.prototype.toString.call(value)

const hasMember = (value: object, key: PropertyKey): boolean =>
  Object.prototype.propertyIsEnumerable.call(value, key)

/** Enumerable own keys, without those of a view's elements; symbols count in strict comparisons only. */
const keysOf = (value: object, strict: boolean): readonly PropertyKey[] => {
  const names = ArrayBuffer.isView(value) ? [] : Object.keys(value)
  const symbols = strict ? Object.getOwnPropertySymbols(value) : []
  return [...names, ...symbols.filter((key) => hasMember(value, key))]
}

const bytesOf = (value: unknown): Uint8Array =>
  ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value as ArrayBuffer)

const sameBytes = (a: unknown, b: unknown): boolean => {
  const [left, right] = [bytesOf(a), bytesOf(b)]
  return left.length === right.length && left.every((byte, index) => byte === right[index])
}

/** In loose comparisons zero has no sign. */
const sameFloats = (a: unknown, b: unknown): boolean => {
  const [left, right] = [a as Float64Array, b as Float64Array]
  return left.length === right.length && left.every((number, index) => number === right[index])
}

const unboxed =
  ({ prototype }: { readonly prototype: { valueOf(): unknown } }) =>
  (a: unknown, b: unknown): boolean =>
    Object.is(Reflect.apply(prototype.valueOf, a, []), Reflect.apply(prototype.valueOf, b, []))

const ERROR_MEMBERS = ['message', 'name', 'cause', 'errors'] as const

const sameErrors = (a: unknown, b: unknown, comparison: Comparison): boolean =>
  ERROR_MEMBERS.every((member) =>
    equal((a as Record<string, unknown>)[member], (b as Record<string, unknown>)[member], comparison),
  )

const sameSets = (a: unknown, b: unknown, comparison: Comparison): boolean => {
  const [left, right] = [a as Set<unknown>, b as Set<unknown>]
  if (left.size !== right.size) return false
  const others = new Set([...right].filter((value) => !left.has(value)))
  return [...left].every((value) => {
    if (right.has(value)) return true
    for (const other of others) if (equal(value, other, comparison)) return others.delete(other)
    return false
  })
}

const sameMaps = (a: unknown, b: unknown, comparison: Comparison): boolean => {
  const [left, right] = [a as Map<unknown, unknown>, b as Map<unknown, unknown>]
  if (left.size !== right.size) return false
  const others = new Set(right.keys())
  const unmatched = [...left].filter(
    ([key, value]) => !(others.has(key) && equal(value, right.get(key), comparison) && others.delete(key)),
  )
  return unmatched.every(([key, value]) => {
    for (const other of others)
      if (other !== key && equal(key, other, comparison) && equal(value, right.get(other), comparison))
        return others.delete(other)
    return false
  })
}

const isError = (value: unknown) => types.isNativeError!(value) || value instanceof Error
const isUrl = (value: unknown) => isObject(value) && tagOf(value) === '[object URL]'
const isFloats = (value: unknown) => types.isFloat32Array!(value) || types.isFloat64Array!(value)
const isOpaque = (value: unknown) =>
  types.isWeakMap!(value) || types.isWeakSet!(value) || types.isPromise!(value)

/** What counts besides the members of an object, by the kind of both. */
const KINDS: readonly (readonly [Is, (a: unknown, b: unknown, comparison: Comparison) => boolean])[] = [
  [Array.isArray, (a, b) => (a as unknown[]).length === (b as unknown[]).length],
  [types.isDate!, (a, b) => Object.is(Number(a), Number(b))],
  [types.isRegExp!, (a, b) => String(a) === String(b) && (a as RegExp).lastIndex === (b as RegExp).lastIndex],
  [isError, sameErrors],
  [ArrayBuffer.isView, (a, b, { strict }) => (!strict && isFloats(a) ? sameFloats(a, b) : sameBytes(a, b))],
  [types.isSet!, sameSets],
  [types.isMap!, sameMaps],
  [types.isAnyArrayBuffer!, sameBytes],
  [types.isNumberObject!, unboxed(Number)],
  [types.isStringObject!, unboxed(String)],
  [types.isBooleanObject!, unboxed(Boolean)],
  [types.isBigIntObject!, unboxed(BigInt)],
  [types.isSymbolObject!, unboxed(Symbol)],
  [isUrl, (a, b) => String(a) === String(b)],
  [isOpaque, () => false],
]

const sameObjects = (a: object, b: object, comparison: Comparison): boolean => {
  const { strict, left, right } = comparison
  if ((strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) || tagOf(a) !== tagOf(b)) return false
  const keys = keysOf(a, strict)
  if (keys.length !== keysOf(b, strict).length || !keys.every((key) => hasMember(b, key))) return false
  const isPlain = tagOf(a) === '[object Object]' && !isError(a) && !isError(b)
  const kind = isPlain ? undefined : KINDS.find(([is]) => is(a) || is(b))
  if (kind !== undefined && !(kind[0](a) && kind[0](b))) return false
  const [position, other] = [left.get(a), right.get(b)]
  if (position !== undefined && other !== undefined) return position === other
  const depth = left.size
  left.set(a, depth)
  right.set(b, depth)
  const same =
    (kind === undefined || kind[1](a, b, comparison)) &&
    keys.every((key) => equal(Reflect.get(a, key), Reflect.get(b, key), comparison))
  left.delete(a)
  right.delete(b)
  return same
}

const bothNaN = (a: unknown, b: unknown) => Number.isNaN(a) && Number.isNaN(b)

const equal = (a: unknown, b: unknown, comparison: Comparison): boolean => {
  const { strict } = comparison
  if (a === b) return !strict || a !== 0 || Object.is(a, b)
  if (!isObject(a) || !isObject(b)) {
    if (isObject(a) || isObject(b)) return false
    // biome-ignore lint/suspicious/noDoubleEquals: the loose comparison is this operator
    return bothNaN(a, b) || (!strict && a == b)
  }
  return sameObjects(a, b, comparison)
}

export const isDeepEqual = (a: unknown, b: unknown): boolean =>
  equal(a, b, { strict: false, left: new Map(), right: new Map() })

export const isDeepStrictEqual = (a: unknown, b: unknown): boolean =>
  equal(a, b, { strict: true, left: new Map(), right: new Map() })
