import type { ErrorObject } from 'ajv'

const plural = (count: unknown, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

const article = (type: unknown) => (/^[aeio]/.test(String(type)) ? `an ${type}` : `a ${type}`)

/** Message for one Ajv error, without the rejected value (completions §2). */
export const sentence = ({ keyword, params, message, parentSchema }: ErrorObject): string => {
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
      return parentSchema?.errorMessage ?? `must match ${params.pattern}`
    case 'uniqueItems':
      return 'must not contain the same item twice'
    case 'additionalProperties':
      return 'must not have members that are not in the schema'
    default:
      return message ?? 'is not valid'
  }
}

/** Merges issues of alternatives into one sentence: "must be a string or null". */
export const joined = (sentences: ReadonlySet<string>): readonly string[] => {
  const kinds = [...sentences].filter((text) => /^must be (an? \w+|null|".*"|one of .*)$/.test(text))
  if (kinds.length < 2) return [...sentences]
  const rest = [...sentences].filter((text) => !kinds.includes(text))
  return [`must be ${kinds.map((text) => text.slice('must be '.length)).join(' or ')}`, ...rest]
}

/** True for an error of Ajv that only wraps the errors of its alternatives. */
export const isAlternative = ({ keyword }: ErrorObject): boolean =>
  keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'if' || keyword === 'propertyNames'
