import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormatsModule from 'ajv-formats'
import { isAlternative, joined, sentence } from './ajv-messages.ts'
import { type AppError, type FieldErrors, invalid } from './errors.ts'
import { pointerParts } from './json.ts'
import { safeMemberName } from './safe-member-name.ts'

/** Maximum members in the errors of one response. */
const MAX_PATHS = 50
/** For larger inputs only the first issue is reported, as finding all takes time for each value. */
const MAX_LISTED_NODES = 5_000
const MAX_PATH_LENGTH = 200

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

const newAjv = (allErrors: boolean) => {
  const ajv = new Ajv({ strict: false, allErrors, useDefaults: true, ownProperties: true, verbose: true })
  addFormats(ajv)
  return ajv
}

/** True if a JSON value has more than `limit` nodes. Stops counting there. */
const moreNodesThan = (value: unknown, limit: number): boolean => {
  const stack: unknown[] = [value]
  for (let seen = 0; stack.length > 0; seen++) {
    if (seen > limit) return true
    const item = stack.pop()
    if (typeof item !== 'object' || item === null) continue
    if (Array.isArray(item)) {
      if (item.length > limit) return true
      for (const child of item) stack.push(child)
    } else
      for (const name in item) {
        if (stack.length > limit) return true
        stack.push((item as Record<string, unknown>)[name])
      }
  }
  return false
}

const isIndex = (part: string) => /^\d{1,5}$/.test(part)

/** `rules[0].priority` for the pointer `/rules/0/priority`; `''` for the root. */
const propertyPath = (pointer: string, missing?: unknown): string => {
  const parts = pointerParts(pointer).map((part) => (isIndex(part) ? part : safeMemberName(part)))
  if (typeof missing === 'string') parts.push(missing)
  return parts
    .reduce((path, part) => (isIndex(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '')
    .slice(0, MAX_PATH_LENGTH)
}

/** Messages of Ajv errors by property path (completions §2). `rootName`: path of errors of the root. */
const fieldErrors = (errors: readonly ErrorObject[], rootName: string): FieldErrors => {
  const byPath = new Map<string, Set<string>>()
  for (const error of errors) {
    if (isAlternative(error)) continue
    const path =
      propertyPath(
        error.instancePath,
        error.keyword === 'required' ? error.params.missingProperty : undefined,
      ) || rootName
    const sentences = byPath.get(path)
    if (sentences) sentences.add(sentence(error))
    else if (byPath.size < MAX_PATHS) byPath.set(path, new Set([sentence(error)]))
  }
  if (byPath.size === 0) byPath.set(rootName, new Set(['is not valid']))
  return Object.fromEntries([...byPath].map(([path, sentences]) => [path, joined(sentences)]))
}

/**
 * An instance costs as much as about twenty schemas, so schemas share one. Those with `$id`, which could clash, do
 * not.
 */
const shared = new Map<boolean, Ajv>()

/** Throws for an asynchronous schema too: its function returns a promise, which would pass for "valid". */
const compile = (schema: object, allErrors: boolean): ValidateFunction => {
  if ((schema as { readonly $async?: unknown }).$async) throw new Error('"$async" is not supported')
  if (JSON.stringify(schema)?.includes('"$id"')) return newAjv(allErrors).compile(schema)
  let ajv = shared.get(allErrors)
  if (ajv === undefined) {
    ajv = newAjv(allErrors)
    shared.set(allErrors, ajv)
  }
  return ajv.compile(schema)
}

/**
 * Compiles a schema; repeated calls use a cache. The returned function sets defaults in its value and returns the
 * error of an invalid value, otherwise undefined. Throws if the schema itself is not valid.
 */
export const compileValidator = (schema: unknown): ((value: unknown) => AppError | undefined) => {
  const first = compile(schema as object, false)
  let all: ValidateFunction | undefined
  return (value) => {
    if (first(value)) return undefined
    let errors = first.errors ?? []
    if (!moreNodesThan(value, MAX_LISTED_NODES)) {
      all ??= compile(schema as object, true)
      if (!all(value)) errors = all.errors ?? errors
    }
    return invalid(fieldErrors(errors, 'body'))
  }
}
