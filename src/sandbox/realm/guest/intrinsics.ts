/**
 * Intrinsics that the realm uses, captured while the snapshot is made: tenants' code may replace all of them in its
 * context, and limits and outcomes must still work. Realm code that runs after tenants' code uses only these: no
 * methods, no iteration, no spreading, and objects without prototype for lookups by name.
 */
type Method<Self, Args extends readonly unknown[], Result> = (this: Self, ...args: Args) => Result

export const { apply, deleteProperty, ownKeys, getPrototypeOf } = Reflect
export const { create, defineProperty, hasOwn, freeze, getOwnPropertyDescriptor } = Object
export const { parse, stringify } = JSON
export const { isArray } = Array
export const { min, max } = Math
export const { now } = Date
export const { isSafeInteger, isInteger } = Number
export const NativeError = Error
export const NativePromise = Promise

/** A method as a function with its object as first argument: `uncurry(String.prototype.slice)(text, 0, 3)`. */
const uncurry =
  <Self, Args extends readonly unknown[], Result>(method: Method<Self, Args, Result>) =>
  (self: Self, ...args: Args): Result =>
    apply(method, self, args)

export const slice = uncurry(String.prototype.slice)
export const indexOf = uncurry<string, [search: string, from?: number], number>(String.prototype.indexOf)
export const startsWith = uncurry<string, [search: string], boolean>(String.prototype.startsWith)
export const endsWith = uncurry<string, [search: string], boolean>(String.prototype.endsWith)
export const text = String
export const number = Number

const mapGet = uncurry<Map<unknown, unknown>, [unknown], unknown>(Map.prototype.get)
const mapSet = uncurry<Map<unknown, unknown>, [unknown, unknown], unknown>(Map.prototype.set)
const mapDelete = uncurry<Map<unknown, unknown>, [unknown], boolean>(Map.prototype.delete)

/** A map whose methods code cannot replace. */
interface Registry<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): boolean
}

export const createRegistry = <K, V>(): Registry<K, V> => {
  const map = new Map<unknown, unknown>()
  return {
    get: (key) => mapGet(map, key) as V | undefined,
    set: (key, value) => void mapSet(map, key, value),
    delete: (key) => mapDelete(map, key),
  }
}

/** A copy of an object without prototype, safe from changes of `Object.prototype`. */
export const plain = <T extends object>(members: T): T => {
  const copy = create(null)
  const keys = ownKeys(members)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as keyof T
    copy[key] = members[key]
  }
  return copy
}

/** JSON text of an array, from the JSON texts of its members. */
export const jsonArray = (members: readonly string[]): string => {
  let joined = ''
  for (let i = 0; i < members.length; i++) joined += i === 0 ? members[i] : `,${members[i]}`
  return `[${joined}]`
}
