import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormatsModule from 'ajv-formats'
import { type AppError, type FieldErrors, invalid } from '../common/errors.ts'
import { pointerParts } from '../common/json.ts'
import { safeMemberName } from '../common/property-path.ts'

/** Members whose faults one answer names. */
const MAX_PATHS = 50
/** Values of an input beyond which only its first fault is looked for: listing all costs time for each. */
const MAX_LISTED_NODES = 5_000
const MAX_PATH_LENGTH = 200

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

const newAjv = (allErrors: boolean) => {
  const ajv = new Ajv({ strict: false, allErrors, useDefaults: true, ownProperties: true, verbose: false })
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
    const items = Object.values(item)
    if (items.length > limit) return true
    for (const child of items) stack.push(child)
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

const plural = (count: unknown, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

const article = (type: unknown) => (/^[aeio]/.test(String(type)) ? `an ${type}` : `a ${type}`)

/** What is wrong, without the value. */
const sentence = ({ keyword, params, message }: ErrorObject): string => {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'type':
      return `must be ${String(params.type)
        .split(',')
        .map((type) => (type === 'null' ? 'null' : article(type)))
        .join(' or ')}`
    case 'minLength':
      return params.limit === 1
        ? 'must not be empty'
        : `must have at least ${plural(params.limit, 'character')}`
    case 'maxLength':
      return `must have at most ${plural(params.limit, 'character')}`
    case 'minItems':
      return `must have at least ${plural(params.limit, 'item')}`
    case 'maxItems':
      return `must have at most ${plural(params.limit, 'item')}`
    case 'minProperties':
      return `must have at least ${plural(params.limit, 'member')}`
    case 'maxProperties':
      return `must have at most ${plural(params.limit, 'member')}`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    case 'enum':
      return `must be one of ${JSON.stringify(params.allowedValues).slice(1, -1).replaceAll(',', ', ')}`
    case 'format':
      return `must be a valid ${params.format}`
    case 'pattern':
      return `must match ${params.pattern}`
    case 'uniqueItems':
      return 'must not hold the same item twice'
    case 'additionalProperties':
      return 'must not have members that the schema does not name'
    default:
      return message ?? 'is not valid'
  }
}

/** Faults of alternatives are told as one sentence: "must be a string or null", "must be one of …". */
const joined = (sentences: ReadonlySet<string>): readonly string[] => {
  const kinds = [...sentences].filter((text) => /^must be (an? \w+|null|".*"|one of .*)$/.test(text))
  if (kinds.length < 2) return [...sentences]
  const rest = [...sentences].filter((text) => !kinds.includes(text))
  return [`must be ${kinds.map((text) => text.slice('must be '.length)).join(' or ')}`, ...rest]
}

/** ajv's faults as sentences by property path (completions §2). */
export const fieldErrors = (errors: readonly ErrorObject[], whole: string): FieldErrors => {
  const byPath = new Map<string, Set<string>>()
  for (const error of errors) {
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf' || error.keyword === 'if') continue
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
