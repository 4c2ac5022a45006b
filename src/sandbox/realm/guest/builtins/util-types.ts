/** `util.types`: tests of internal slots, where plain JavaScript can detect them. */

const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1)
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** True when a method that needs an internal slot can be called on the value. */
const results =
  (holder: object, name: string) =>
  (value: unknown): boolean => {
    const descriptor = Object.getOwnPropertyDescriptor(holder, name)
    try {
      Reflect.apply(descriptor?.get ?? descriptor?.value, value, [])
      return true
    } catch {
      return false
    }
  }

const typedArrayName = (value: unknown): string | undefined =>
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)?.get?.call(
    value,
  )

const tagged = (tag: string) => (value: unknown) => isObject(value) && tagOf(value) === tag
const typed = (name: string) => (value: unknown) => typedArrayName(value) === name
const functionOf = (tag: string) => (value: unknown) => typeof value === 'function' && tagOf(value) === tag

const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
]

const boxes = {
  isNumberObject: results(Number.prototype, 'valueOf'),
  isStringObject: results(String.prototype, 'valueOf'),
  isBooleanObject: results(Boolean.prototype, 'valueOf'),
  isBigIntObject: results(BigInt.prototype, 'valueOf'),
  isSymbolObject: results(Symbol.prototype, 'valueOf'),
}

const boxed = Object.fromEntries(
  Object.entries(boxes).map(([name, is]) => [name, (value: unknown) => isObject(value) && is(value)]),
)

const isArrayBuffer = results(ArrayBuffer.prototype, 'byteLength')
const isAsyncFunction = functionOf('AsyncFunction')
const isGenerator = functionOf('GeneratorFunction')

export const builtin = {
  ...boxed,
  ...Object.fromEntries(TYPED_ARRAYS.map(({ name }) => [`is${name}`, typed(name)])),
  isAnyArrayBuffer: isArrayBuffer,
  isArgumentsObject: tagged('Arguments'),
  isArrayBuffer,
  isArrayBufferView: (value: unknown): boolean => ArrayBuffer.isView(value),
  isAsyncFunction: (value: unknown): boolean =>
    isAsyncFunction(value) || functionOf('AsyncGeneratorFunction')(value),
  isBoxedPrimitive: (value: unknown): boolean =>
    isObject(value) && Object.values(boxes).some((is) => is(value)),
  isDataView: (value: unknown): boolean => ArrayBuffer.isView(value) && typedArrayName(value) === undefined,
  isDate: results(Date.prototype, 'getTime'),
  isExternal: (): boolean => false,
  isGeneratorFunction: (value: unknown): boolean =>
    isGenerator(value) || functionOf('AsyncGeneratorFunction')(value),
  isGeneratorObject: tagged('Generator'),
  isMap: results(Map.prototype, 'size'),
  isMapIterator: tagged('Map Iterator'),
  isModuleNamespaceObject: tagged('Module'),
  isNativeError: (value: unknown): boolean =>
    isObject(value) && (value instanceof Error || tagOf(value) === 'Error'),
  isPromise: (value: unknown): boolean => value instanceof Promise,
  isProxy: (): boolean => false,
  isRegExp: (value: unknown): boolean =>
    isObject(value) && results(RegExp.prototype, 'source')(value) && tagOf(value) === 'RegExp',
  isSet: results(Set.prototype, 'size'),
  isSetIterator: tagged('Set Iterator'),
  isSharedArrayBuffer: (): boolean => false,
  isTypedArray: (value: unknown): boolean => typedArrayName(value) !== undefined,
  isWeakMap: tagged('WeakMap'),
  isWeakSet: tagged('WeakSet'),
}
