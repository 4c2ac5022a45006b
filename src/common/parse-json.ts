/**
 * Parses JSON text whose member names other people chose. `JSON.parse` of V8 13 and 14 may return a wrong name for an
 * escaped one, after any earlier object in the process that had a name with a backslash (nodejs/node#63785). The wrong
 * name holds a backslash, so a result without such a name is right; otherwise the text is parsed again, without escapes
 * in names.
 */
import { randomBytes } from 'node:crypto'

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]

/** Characters that a JSON string holds as an escape only. */
const NEEDS_ESCAPE = /["\\]|[^ -\uffff]/

/** Start and end, after its quotes, of each member name with an escape. `text` is valid JSON. */
const escapedNames = (text: string): readonly (readonly [start: number, end: number])[] => {
  const names: [number, number][] = []
  for (let at = text.indexOf('\\'); at !== -1; ) {
    let end = at
    for (let unit = BACKSLASH; unit !== QUOTE; unit = text.charCodeAt(end)) end += unit === BACKSLASH ? 2 : 1
    let after = ++end
    while (text.charCodeAt(after) <= 0x20) after++
    if (text.charCodeAt(after) === COLON) names.push([text.lastIndexOf('"', at), end])
    at = text.indexOf('\\', end)
  }
  return names
}

type Members = Record<string, unknown>

const renamed = (object: Members, names: ReadonlyMap<string, string>): Members => {
  let isNamed = true
  for (const name in object) if (names.has(name)) isNamed = false
  if (isNamed) return object
  const result: Members = {}
  for (const written in object) {
    const name = names.get(written) ?? written
    if (name === '__proto__')
      Object.defineProperty(result, name, {
        value: object[written],
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else result[name] = object[written]
  }
  return result
}

/** Gives members their names back, in place. */
const rename = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
  const root: unknown[] = [value]
  const open: (unknown[] | Members)[] = [root]
  const visit = (inner: unknown): unknown => {
    if (typeof inner !== 'object' || inner === null) return inner
    const object = Array.isArray(inner) ? inner : renamed(inner as Members, names)
    open.push(object)
    return object
  }
  for (let container = open.pop(); container !== undefined; container = open.pop())
    if (Array.isArray(container))
      for (let at = 0; at < container.length; at++) {
        const inner = container[at]
        if (typeof inner === 'object') container[at] = visit(inner)
      }
    else
      for (const name in container) {
        const inner = container[name]
        if (typeof inner === 'object') container[name] = visit(inner)
      }
  return root[0]
}

/** Whether a member name in the value holds a backslash. */
const holdsBackslash = (value: unknown): boolean => {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const container = open.pop()
    if (Array.isArray(container)) {
      for (const inner of container) if (typeof inner === 'object') open.push(inner)
    } else
      for (const name in container as Members | null) {
        if (name.includes('\\')) return true
        const inner = (container as Members)[name]
        if (typeof inner === 'object') open.push(inner)
      }
  }
  return false
}

/** Throws a SyntaxError, as `JSON.parse` does. */
export const parseJson = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  if (!text.includes('\\')) return value
  const escaped = escapedNames(text)
  if (escaped.length === 0 || !holdsBackslash(value)) return value
  const placeholder = randomBytes(9).toString('base64')
  const written = new Map<string, string>()
  const names = new Map<string, string>()
  const parts: string[] = []
  let from = 0
  for (const [start, end] of escaped) {
    const literal = text.slice(start, end)
    let name = written.get(literal)
    if (name === undefined) {
      name = JSON.parse(literal) as string
      if (NEEDS_ESCAPE.test(name)) {
        const stand = `${placeholder}.${names.size}`
        names.set(stand, name)
        name = stand
      }
      written.set(literal, name)
    }
    parts.push(text.slice(from, start), '"', name, '"')
    from = end
  }
  const parsed: unknown = JSON.parse(parts.join('') + text.slice(from))
  return names.size === 0 ? parsed : rename(parsed, names)
}
