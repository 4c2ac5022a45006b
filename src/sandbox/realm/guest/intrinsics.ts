/**
 * What the realm itself stands on, taken while the snapshot is made: customers' code may replace all of it in its own
 * context, and must still be counted, bounded and answered for. Code of ours that runs after customers' code uses these,
 * no methods, no iteration, no spreading, and objects without prototype where something is looked up by name.
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

/** A method as a function that takes its object first: `uncurry(String.prototype.slice)(text, 0, 3)`. */
export const uncurry =
  <Self, Args extends readonly unknown[], Result>(method: Method<Self, Args, Result>) =>
  (self: Self, ...args: Args): Result =>
    apply(method, self, args)

export const slice = uncurry(String.prototype.slice)
export const indexOf = uncurry<string, [search: string, from?: number], number>(String.prototype.indexOf)
export const startsWith = uncurry<string, [search: string], boolean>(String.prototype.startsWith)
export const endsWith = uncurry<string, [search: string], boolean>(String.prototype.endsWith)
export const text = String

const mapGet = uncurry<Map<unknown, unknown>, [unknown], unknown>(Map.prototype.get)
const mapSet = uncurry<Map<unknown, unknown>, [unknown, unknown], unknown>(Map.prototype.set)
const mapDelete = uncurry<Map<unknown, unknown>, [unknown], boolean>(Map.prototype.delete)

/** A map whose methods nobody can replace. */
export interface Registry<K, V> {
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

/** An object without prototype that has these members: nothing can be added to it through `Object.prototype`. */
export const plain = <T extends object>(members: T): T => {
  const copy = create(null)
  const keys = ownKeys(members)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as keyof T
    copy[key] = members[key]
  }
  return copy
}

/** The JSON text of an array, of the JSON texts of its members. */
export const jsonArray = (members: readonly string[]): string => {
  let joined = ''
  for (let i = 0; i < members.length; i++) joined += i === 0 ? members[i] : `,${members[i]}`
  return `[${joined}]`
}
