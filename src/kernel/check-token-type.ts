import { isObject, type Json, pointerParts } from '../common/json.ts'
import type { Expressions } from '../expressions/types.ts'
import type { TokenType } from '../sdk/index.ts'
import { checkDataExamples } from './check-examples.ts'
import { checkFunctions } from './check-functions.ts'
import type { Faults } from './faults.ts'
import { asSchema, branches, type JsonSchema } from './json-schema.ts'
import { shows } from './mask-shows.ts'
import { compileValidator } from './validate.ts'

const NAME = /^[a-z0-9_]{1,50}$/
/** Stored lower case (completions §4). */
const CONTAINER = /^\/(?:[a-z0-9_-]+\/)+$/
const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/
const CHECKS = ['luhn', 'aba', 'iban']
const MAX_EXPRESSION = 400
const MAX_INDEXES = 10
const MEMBERS = [
  'name',
  'title',
  'data',
  'normalize',
  'check',
  'checks',
  'container',
  'mask',
  'fingerprint',
  'searchIndexes',
  'never',
  'ephemeral',
  'examples',
]

const strings = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(strings)
      : []

/** False only when the schema lists its members and the pointer names none of them. */
const mayExist = (schema: JsonSchema, [head, ...rest]: readonly string[]): boolean => {
  if (head === undefined) return true
  return branches(schema).some((branch) => {
    if (branch.properties === undefined) return true
    const property = branch.properties[head]
    return property === undefined ? isObject(branch.additionalProperties) : mayExist(property, rest)
  })
}

const checkPointer = (pointer: unknown, data: JsonSchema, faults: Faults) => {
  if (typeof pointer !== 'string' || !POINTER.test(pointer))
    faults.add(
      `${JSON.stringify(pointer)} is not a JSON pointer.`,
      'Write it like "/number"; "" is the whole.',
    )
  else if (!mayExist(data, pointerParts(pointer)))
    faults.add(`"${pointer}" names no member of the data schema.`, 'Correct it, or add the member.')
}

const checkExpression = (text: unknown, expressions: Expressions, faults: Faults) => {
  if (typeof text !== 'string') {
    faults.add('it is not an expression.', 'Write it like "{{ data.number }}".')
    return
  }
  if (text.length > MAX_EXPRESSION)
    faults.add(`it is longer than ${MAX_EXPRESSION} characters.`, 'Shorten it, or use "normalize".')
  try {
    expressions.parseStored(text)
  } catch (thrown) {
    faults.add(`it does not parse: ${(thrown as Error).message}`, 'Correct the expression.')
  }
}

const list = (value: unknown, name: string, faults: Faults): readonly unknown[] => {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  faults.add(`"${name}" is not a list.`, 'Write it in brackets.')
  return []
}

/** All faults of one token type alone: container, expressions, pointers, and what its mask gives away. */
export const checkTokenType = (type: TokenType, expressions: Expressions, faults: Faults): void => {
  if (!NAME.test(String(type.name)))
    faults.add('its name is not valid.', 'Use lower-case letters, digits and underscores, at most 50.')
  if (typeof type.title !== 'string' || type.title === '')
    faults.add('it has no title.', 'Give the name that people read, e.g. "Loyalty card".')
  for (const member of Object.keys(type))
    if (!MEMBERS.includes(member))
      faults.add(`a token type has no member "${member}".`, `Known are ${MEMBERS.join(', ')}.`)
  if (typeof type.container !== 'string' || !CONTAINER.test(type.container))
    faults
      .at('container')
      .add(`"${type.container}" is not a container.`, 'Write a path of lower-case names like "/pci/high/".')

  const data = asSchema(type.data)
  if (!isObject(type.data)) faults.at('data').add('there is no schema of its data.', 'Give a JSON Schema.')
  else {
    try {
      compileValidator(type.data)
    } catch (thrown) {
      faults.at('data').add(`the schema does not compile: ${(thrown as Error).message}.`, 'Correct it.')
    }
  }

  for (const text of strings(type.mask)) checkExpression(text, expressions, faults.at('mask'))
  if (type.fingerprint !== undefined) checkExpression(type.fingerprint, expressions, faults.at('fingerprint'))
  const indexes = list(type.searchIndexes, 'searchIndexes', faults)
  if (indexes.length > MAX_INDEXES)
    faults
      .at('searchIndexes')
      .add(`there are more than ${MAX_INDEXES}.`, 'Keep the ones that are searched for.')
  for (const [index, text] of indexes.entries())
    checkExpression(text, expressions, faults.at(`searchIndexes[${index}]`))

  for (const [index, item] of list(type.checks, 'checks', faults).entries()) {
    const at = faults.at(`checks[${index}]`)
    const { check, at: pointer } = isObject(item) ? item : {}
    if (!CHECKS.includes(String(check)))
      at.add(`there is no check ${JSON.stringify(check)}.`, `Known are ${CHECKS.join(', ')}.`)
    checkPointer(pointer, data, at)
  }
  for (const [index, item] of list(type.ephemeral, 'ephemeral', faults).entries()) {
    const at = faults.at(`ephemeral[${index}]`)
    const { at: pointer, seconds } = isObject(item) ? item : {}
    if (!Number.isInteger(seconds) || Number(seconds) < 1)
      at.add('"seconds" is not a whole number above 0.', 'Say after how many seconds the member is removed.')
    checkPointer(pointer, data, at)
  }
  for (const [index, pointer] of list(type.never, 'never', faults).entries()) {
    const at = faults.at(`never[${index}]`)
    checkPointer(pointer, data, at)
    if (typeof pointer !== 'string' || !POINTER.test(pointer)) continue
    const reveals = (expression: unknown) =>
      expression !== undefined && shows(expression as Json, pointer, data, expressions)
    if (reveals(type.mask))
      faults
        .at('mask')
        .add(`it shows "${pointer}", which is never to be returned.`, 'Leave that member out of the mask.')
    for (const [number, text] of indexes.entries())
      if (reveals(text))
        faults
          .at(`searchIndexes[${number}]`)
          .add(
            `whoever searches could guess "${pointer}", which is never to be returned.`,
            'Leave that member out of the index.',
          )
  }
  checkFunctions(type, data, faults)
  checkDataExamples(type, faults)
}
