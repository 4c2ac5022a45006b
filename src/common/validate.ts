import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormatsModule from 'ajv-formats'
import { isAlternative, joined, sentence } from './ajv-messages.ts'
import { type AppError, type FieldErrors, invalid } from './errors.ts'
import { pointerParts } from './json.ts'
import { safeMemberName } from './safe-member-name.ts'

/** Members whose faults one answer names. */
const MAX_PATHS = 50
/** Values of an input beyond which only its first fault is looked for: listing all costs time for each. */
const MAX_LISTED_NODES = 5_000
const MAX_PATH_LENGTH = 200

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

const newAjv = (allErrors: boolean) => {
  const ajv = new Ajv({ strict: false, allErrors, useDefaults: true, ownProperties: true, verbose: true })
  addFormats(ajv)
  return ajv
}

/** Nodes of a JSON value, counted up to a limit. */
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

/** `rules[0].priority` for the pointer `/rules/0/priority`; `''` for the whole. */
const propertyPath = (pointer: string, missing?: unknown): string => {
  const parts = pointerParts(pointer).map((part) => (isIndex(part) ? part : safeMemberName(part)))
  if (typeof missing === 'string') parts.push(missing)
  return parts
    .reduce((path, part) => (isIndex(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '')
    .slice(0, MAX_PATH_LENGTH)
}

/** ajv's faults as sentences by property path (completions §2). */
const fieldErrors = (errors: readonly ErrorObject[], whole: string): FieldErrors => {
  const byPath = new Map<string, Set<string>>()
  for (const error of errors) {
    if (isAlternative(error)) continue
    const path =
      propertyPath(
        error.instancePath,
        error.keyword === 'required' ? error.params.missingProperty : undefined,
      ) || whole
    const found = byPath.get(path)
    if (found) found.add(sentence(error))
    else if (byPath.size < MAX_PATHS) byPath.set(path, new Set([sentence(error)]))
  }
  if (byPath.size === 0) byPath.set(whole, new Set(['is not valid']))
  return Object.fromEntries([...byPath].map(([path, sentences]) => [path, joined(sentences)]))
}

/** An instance costs as much as some twenty schemas, so those without ids of their own, which could clash, share one. */
const shared = new Map<boolean, Ajv>()

const compile = (schema: object, allErrors: boolean): ValidateFunction => {
  if (JSON.stringify(schema)?.includes('"$id"')) return newAjv(allErrors).compile(schema)
  let ajv = shared.get(allErrors)
  if (ajv === undefined) {
    ajv = newAjv(allErrors)
    shared.set(allErrors, ajv)
  }
  return ajv.compile(schema)
}

/**
 * Compiles a schema. The function sets defaults inside the value it is given and answers the faults of a value that
 * is not valid, undefined for one that is. Throws when the schema itself is at fault. Compiling one again is free.
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
