/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** True when arrays and objects nest deeper than `limit`. Recursion stops there, so hostile input costs no stack. */
export const deeperThan = (value: unknown, limit: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  if (Array.isArray(value)) return value.some((item) => deeperThan(item, limit - 1))
  for (const name in value) if (deeperThan((value as Record<string, unknown>)[name], limit - 1)) return true
  return false
}

/** True when a value contains more than `limit` arrays and objects. */
export const holdsMore = (value: unknown, limit: number): boolean => {
  let left = limit
  const open: unknown[] = [value]
  while (open.length > 0) {
    const item = open.pop()
    if (typeof item !== 'object' || item === null) continue
    if (--left < 0) return true
    for (const inner of Object.values(item)) if (typeof inner === 'object' && inner !== null) open.push(inner)
  }
  return false
}

/** JSON merge patch (RFC 7386): a new value, `target` untouched. */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const result: Record<string, unknown> = Object.create(null)
  if (isObject(target)) Object.assign(result, target)
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatch(result[key], value)
  }
  return { ...result }
}

/** A member name as part of a JSON pointer. */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

const unescapePointer = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** Parts of a JSON pointer (RFC 6901); `''` names the document. */
export const pointerParts = (pointer: string): string[] =>
  pointer === '' ? [] : pointer.slice(1).split('/').map(unescapePointer)

/** The value at a JSON pointer, or undefined. Own members only. */
export const valueAt = (value: unknown, pointer: string): unknown => {
  let current = value
  for (const part of pointerParts(pointer)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined
    current = (current as Record<string, unknown>)[part]
  }
  return current
}

/** A copy of `value` without the member at `pointer`; `value` itself when there is no such member. */
export const without = (value: unknown, pointer: string): unknown => {
  const [head, ...rest] = pointerParts(pointer)
  if (head === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, head))
    return value
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value }
  const members = copy as Record<string, unknown>
  if (rest.length === 0) delete members[head]
  else members[head] = without(members[head], `/${rest.map(escapePointer).join('/')}`)
  return copy
}
