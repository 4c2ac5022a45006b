import { ApiError } from '../api/problem.ts'
import { isObject, type JsonObject, type Parsed, parseJson } from './json.ts'

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * The JSON merge patch (RFC 7386) that makes `after` of `before`; undefined when nothing changes. Throws for a new null
 * inside an object: a patch removes such a member.
 */
export const mergePatch = (before: unknown, after: JsonObject, place = ''): JsonObject | undefined => {
  const former = isObject(before) ? before : {}
  const patch: Record<string, unknown> = {}
  const set = (name: string, value: unknown) =>
    // As an assignment, "__proto__" would set the prototype.
    Object.defineProperty(patch, name, { value, enumerable: true, configurable: true })
  for (const name of Object.keys(former)) if (!Object.hasOwn(after, name)) set(name, null)
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(former, name) ? former[name] : undefined
    if (isSame(old, value)) continue
    if (value === null)
      throw new ApiError({
        title: 'Null cannot be stored here',
        detail: `Give ${place}${name} another value, or remove the member.`,
      })
    const next = isObject(value) ? mergePatch(old, value, `${place}${name}.`) : value
    if (next !== undefined) set(name, next)
  }
  return Object.keys(patch).length === 0 && isObject(before) ? undefined : patch
}

/** The object of a JSON text, or a sentence that says what is wrong. An empty text is an empty object. */
export const parseObject = (text: string): Parsed<JsonObject> => {
  if (text.trim() === '') return { value: {} }
  const { value, error } = parseJson(text)
  if (error !== undefined) return { error }
  return isObject(value) ? { value } : { error: 'Write an object: { "name": "value" }.' }
}

export const objectText = (value: unknown): string => JSON.stringify(value ?? {}, null, 2)
