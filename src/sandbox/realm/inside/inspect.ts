/**
 * `util.inspect`: values as text, like Node's for what people print, except that long arrays are not put in columns.
 * Bounded: at most 10,000 values of a text are shown. It never throws for what it is given.
 */

import { errorText, functionText, isError, keyText, nameOf, unboxed } from './inspect-object.ts'
import { beginInspection, type Inspection, type InspectOptions } from './inspect-options.ts'
import { inspectPrimitive } from './inspect-primitive.ts'

export const CUSTOM = Symbol.for('nodejs.util.inspect.custom')

interface Shape {
  /** Before the braces: an error's text, a function's name. */
  readonly base: string
  readonly open: string
  readonly close: string
  readonly entries: readonly string[]
}

const isIndex = (key: string | symbol, length: number) =>
  typeof key === 'string' && /^(?:0|[1-9]\d*)$/.test(key) && Number(key) < length

const member = (holder: object, key: string | symbol, inspection: Inspection): string => {
  const descriptor = Object.getOwnPropertyDescriptor(holder, key)
  if (descriptor?.get) return descriptor.set ? '[Getter/Setter]' : '[Getter]'
  if (descriptor?.set) return '[Setter]'
  inspection.indent += 2
  const text = show(descriptor?.value, inspection)
  inspection.indent -= 2
  return text
}

const isEnumerable = (value: object, key: string | symbol) =>
  Object.prototype.propertyIsEnumerable.call(value, key)

const members = (
  value: object,
  inspection: Inspection,
  skip: (key: string | symbol) => boolean,
): string[] => {
  const keys = Reflect.ownKeys(value).filter(
    (key) => !skip(key) && (inspection.options.showHidden || isEnumerable(value, key)),
  )
  if (inspection.options.sorted) keys.sort((a, b) => (String(a) < String(b) ? -1 : 1))
  const shown: string[] = []
  for (const key of keys) {
    if (inspection.left <= 0) return [...shown, '…']
    const name = isEnumerable(value, key) ? keyText(key) : `[${String(key)}]`
    shown.push(`${name}: ${member(value, key, inspection)}`)
  }
  return shown
}

const more = (count: number): string[] => (count > 0 ? [`... ${count} more item${count > 1 ? 's' : ''}`] : [])

/** Empty items that are looked at; behind so many, all are taken to be empty. */
const GAP = 10_000

const items = (value: ArrayLike<unknown> & object, inspection: Inspection): string[] => {
  const shown: string[] = []
  let next = 0
  while (next < value.length && shown.length < inspection.arrayLength && inspection.left > 0) {
    if (Object.hasOwn(value, next)) {
      shown.push(member(value, `${next++}`, inspection))
      continue
    }
    const start = next
    while (next < value.length && next - start < GAP && !Object.hasOwn(value, next)) next++
    if (next - start === GAP) next = value.length
    shown.push(`<${next - start} empty item${next - start > 1 ? 's' : ''}>`)
  }
  return [...shown, ...more(value.length - next)]
}

const nested = (value: unknown, inspection: Inspection): string => {
  inspection.indent += 2
  const text = show(value, inspection)
  inspection.indent -= 2
  return text
}

const firstOf = function* <T>(values: Iterable<T>, count: number): Generator<T> {
  let left = count
  for (const value of values)
    if (left-- > 0) yield value
    else return
}

const mapEntries = (value: Map<unknown, unknown>, inspection: Inspection): string[] => [
  ...[...firstOf(Map.prototype.entries.call(value), inspection.arrayLength)].map(
    ([key, each]) => `${nested(key, inspection)} => ${nested(each, inspection)}`,
  ),
  ...more(value.size - inspection.arrayLength),
]

const setEntries = (value: Set<unknown>, inspection: Inspection): string[] => [
  ...[...firstOf(Set.prototype.values.call(value), inspection.arrayLength)].map((each) =>
    nested(each, inspection),
  ),
  ...more(value.size - inspection.arrayLength),
]

const none = () => false

const shapeOf = (value: object, inspection: Inspection): Shape => {
  const name = nameOf(value)
  const prefix = (ordinary: string, size?: number) => {
    const sized = size === undefined ? '' : `(${size})`
    if (name === null) return `[${ordinary}${sized}: null prototype] `
    return name === ordinary && (ordinary === 'Object' || ordinary === 'Array') ? '' : `${name}${sized} `
  }
  const braces = (base: string, entries: readonly string[], before = ''): Shape => ({
    base,
    open: `${before}{`,
    close: '}',
    entries,
  })
  const others = (skip: (key: string | symbol) => boolean = none) => members(value, inspection, skip)

  if (typeof value === 'function') return braces(functionText(value), others())
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    const array = value as unknown as ArrayLike<unknown> & object
    const ordinary = Array.isArray(value) ? 'Array' : (name ?? 'Uint8Array')
    const sized = ordinary !== 'Array' || name !== 'Array'
    const indexed = (key: string | symbol) => isIndex(key, array.length)
    return {
      base: '',
      open: `${prefix(ordinary, sized ? array.length : undefined)}[`,
      close: ']',
      entries: [...items(array, inspection), ...others(indexed)],
    }
  }
  if (value instanceof Map)
    return braces('', [...mapEntries(value, inspection), ...others()], prefix('Map', value.size))
  if (value instanceof Set)
    return braces('', [...setEntries(value, inspection), ...others()], prefix('Set', value.size))
  if (isError(value))
    return braces(
      errorText(value),
      others((key) => key === 'stack' || key === 'message' || key === 'name'),
    )
  if (value instanceof Date) {
    const time = Date.prototype.getTime.call(value)
    return braces(Number.isNaN(time) ? 'Invalid Date' : Date.prototype.toISOString.call(value), others())
  }
  if (value instanceof RegExp) return braces(RegExp.prototype.toString.call(value), others())
  if (value instanceof ArrayBuffer)
    return braces('', [`byteLength: ${value.byteLength}`, ...others()], prefix('ArrayBuffer'))
  const box = unboxed(value)
  if (box)
    return braces(
      `[${box.type}: ${inspectPrimitive(box.primitive, inspection)}]`,
      others((key) => isIndex(key, Number.POSITIVE_INFINITY) || key === 'length'),
    )
  const tag = (value as { readonly [Symbol.toStringTag]?: unknown })[Symbol.toStringTag]
  const tagged = typeof tag === 'string' && tag !== '' && tag !== name ? `[${tag}] ` : ''
  const before = name === 'Object' && tagged !== '' ? `Object ${tagged}` : prefix('Object') + tagged
  return braces('', others(), before)
}

const layout = ({ base, open, close, entries }: Shape, level: number, inspection: Inspection): string => {
  const before = base === '' ? open : `${base} ${open}`
  if (entries.length === 0) return base === '' ? `${open}${close}` : base
  if (inspection.level - level < inspection.compact) {
    const start = entries.length + inspection.indent + open.length + base.length + 10
    const length = entries.reduce((sum, entry) => sum + entry.length, entries.length + start)
    const line = entries.join(', ')
    if (length <= inspection.breakLength && !base.includes('\n') && !line.includes('\n'))
      return `${before} ${line} ${close}`
  }
  const indent = `\n${' '.repeat(inspection.indent)}`
  return `${before}${indent}  ${entries.join(`,${indent}  `)}${indent}${close}`
}

const custom = (value: object, inspection: Inspection): { readonly text: string } | undefined => {
  const method = (value as { readonly [CUSTOM]?: unknown })[CUSTOM]
  if (typeof method !== 'function' || method === inspect) return undefined
  const depth = inspection.depth - inspection.path.length
  const result: unknown = method.call(value, depth, { ...inspection.options, depth }, inspect)
  if (result === value) return undefined
  return { text: typeof result === 'string' ? result : show(result, inspection) }
}

const isEmpty = (value: object) =>
  (Array.isArray(value) || nameOf(value) === 'Object') && Object.keys(value).length === 0

const showObject = (value: object, inspection: Inspection): string => {
  const own = custom(value, inspection)
  if (own) return own.text.replaceAll('\n', `\n${' '.repeat(inspection.indent)}`)
  if (inspection.path.includes(value)) {
    if (!inspection.circular.includes(value)) inspection.circular.push(value)
    return `[Circular *${inspection.circular.indexOf(value) + 1}]`
  }
  const level = inspection.path.length
  if (level > inspection.depth && typeof value !== 'function' && !isError(value) && !isEmpty(value))
    return `[${Array.isArray(value) ? 'Array' : (nameOf(value) ?? 'Object: null prototype')}]`
  inspection.path.push(value)
  if (!isEmpty(value)) inspection.level = level
  const shape = shapeOf(value, inspection)
  inspection.path.pop()
  const index = inspection.circular.indexOf(value)
  return (index < 0 ? '' : `<ref *${index + 1}> `) + layout(shape, level, inspection)
}

const show = (value: unknown, inspection: Inspection): string => {
  if (inspection.left-- <= 0) return '…'
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null)
    return inspectPrimitive(value, inspection)
  return showObject(value, inspection)
}

/** The value as text. The second argument may be, as of old, `showHidden`, then `depth`. */
export const inspect = (
  value: unknown,
  options: InspectOptions | boolean = {},
  depth?: number | null,
): string => {
  const given = typeof options === 'object' && options !== null ? options : { showHidden: options === true }
  try {
    return show(value, beginInspection(depth === undefined ? given : { ...given, depth }))
  } catch {
    return '[an object that cannot be shown]'
  }
}

inspect.custom = CUSTOM
inspect.defaultOptions = {
  depth: 2,
  maxArrayLength: 100,
  maxStringLength: 10_000,
  breakLength: 80,
  compact: 3,
}
