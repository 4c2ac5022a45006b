/** Parts of objects as `util.inspect` shows them. */
import { framesOf } from './frames.ts'
import { quote } from './inspect-primitive.ts'

/** `Point`, `[Object: null prototype]`, or nothing for a plain object. */
export const nameOf = (value: object): string | null => {
  for (let each: object | null = value; each !== null; each = Object.getPrototypeOf(each)) {
    const descriptor = Object.getOwnPropertyDescriptor(each, 'constructor')
    const made: unknown = descriptor?.value
    if (typeof made === 'function' && made.name !== '' && value instanceof made) return `${made.name}`
  }
  return null
}

const kind = (value: object): string => Object.prototype.toString.call(value).slice(8, -1)

export const isError = (value: unknown): value is Error =>
  value instanceof Error || (typeof value === 'object' && value !== null && kind(value) === 'Error')

export const functionText = (value: object & { readonly name?: unknown }): string => {
  const name = typeof value.name === 'string' && value.name !== '' ? value.name : undefined
  const source = Function.prototype.toString.call(value)
  if (/^class\b/.test(source)) {
    const base = Object.getPrototypeOf(value)
    const extended = typeof base === 'function' && base.name ? ` extends ${base.name}` : ''
    return `[class ${name ?? '(anonymous)'}${extended}]`
  }
  return `[${kind(value)}${name === undefined ? ' (anonymous)' : `: ${name}`}]`
}

/** Name, message and the code's own frames. */
export const errorText = (error: Error): string => {
  const name = String(error.name ?? 'Error')
  const message = String(error.message ?? '')
  const head = message === '' ? name : `${name}: ${message}`
  const frames = framesOf(error).map((frame) => `\n    at ${frame}`)
  return frames.length > 0 ? head + frames.join('') : `[${head}]`
}

export const keyText = (key: string | symbol): string => {
  if (typeof key === 'symbol') return `[${String(key)}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)
}

const BOXED = [Number, String, Boolean, BigInt, Symbol] as const

/** The primitive in an object made by `new Number(1)` and the like. */
export const unboxed = (
  value: object,
): { readonly type: string; readonly primitive: unknown } | undefined => {
  for (const Box of BOXED) {
    if (!(value instanceof Box)) continue
    try {
      return { type: Box.name, primitive: Reflect.apply(Box.prototype.valueOf, value, []) }
    } catch {
      return undefined
    }
  }
  return undefined
}
