import { isObject, type Json, pointerParts } from '../../common/json.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Expressions } from '../../expressions/types.ts'
import type { TokenType } from '../../sdk/index.ts'
import { checkDataExamples } from './examples.ts'
import { checkFunctions } from './functions.ts'
import type { Issues } from './issues.ts'
import { asSchema, branches, type JsonSchema } from './json-schema.ts'
import { shows } from './mask-leak-check.ts'

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
  'writeOnly',
  'ephemeral',
  'examples',
]

const strings = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(strings)
      : []

/** False when the schema lists its members and the pointer names none of them. */
const mayExist = (schema: JsonSchema, [head, ...rest]: readonly string[]): boolean => {
  if (head === undefined) return true
  return branches(schema).some((branch) => {
    if (branch.properties === undefined) return true
    const property = branch.properties[head]
    return property === undefined ? isObject(branch.additionalProperties) : mayExist(property, rest)
  })
}

const checkPointer = (pointer: unknown, data: JsonSchema, issues: Issues) => {
  if (typeof pointer !== 'string' || !POINTER.test(pointer))
    issues.add(
      `${JSON.stringify(pointer)} is not a JSON pointer.`,
      'Write it like "/number"; "" is all of the data.',
    )
  else if (!mayExist(data, pointerParts(pointer)))
    issues.add(`"${pointer}" names no member of the data schema.`, 'Correct it, or add the member.')
}

const checkExpression = (text: unknown, expressions: Expressions, issues: Issues) => {
  if (typeof text !== 'string') {
    issues.add('it is not an expression.', 'Write it like "{{ data.number }}".')
    return
  }
  if (text.length > MAX_EXPRESSION)
    issues.add(`it is longer than ${MAX_EXPRESSION} characters.`, 'Shorten it, or use "normalize".')
  try {
    expressions.parseStored(text)
  } catch (thrown) {
    issues.add(`it does not parse: ${(thrown as Error).message}`, 'Correct the expression.')
  }
}

const list = (value: unknown, name: string, issues: Issues): readonly unknown[] => {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  issues.add(`"${name}" is not a list.`, 'Write it in brackets.')
  return []
}

/** All issues of one token type by itself: container, expressions, pointers, and leaks of its mask. */
export const checkTokenType = (type: TokenType, expressions: Expressions, issues: Issues): void => {
  if (!NAME.test(String(type.name)))
    issues.add('its name is not valid.', 'Use lower-case letters, digits and underscores, at most 50.')
  if (typeof type.title !== 'string' || type.title === '')
    issues.add('it has no title.', 'Give the name that people read, e.g. "Loyalty card".')
  for (const member of Object.keys(type))
    if (!MEMBERS.includes(member))
      issues.add(`a token type has no member "${member}".`, `Known are ${MEMBERS.join(', ')}.`)
  if (typeof type.container !== 'string' || !CONTAINER.test(type.container))
    issues
      .at('container')
      .add(`"${type.container}" is not a container.`, 'Write a path of lower-case names like "/pci/high/".')

  const data = asSchema(type.data)
  if (!isObject(type.data)) issues.at('data').add('there is no schema of its data.', 'Give a JSON Schema.')
  else {
    try {
      compileValidator(type.data)
    } catch (thrown) {
      issues.at('data').add(`the schema does not compile: ${(thrown as Error).message}.`, 'Correct it.')
    }
  }

  for (const text of strings(type.mask)) checkExpression(text, expressions, issues.at('mask'))
  if (type.fingerprint !== undefined) checkExpression(type.fingerprint, expressions, issues.at('fingerprint'))
  const indexes = list(type.searchIndexes, 'searchIndexes', issues)
  if (indexes.length > MAX_INDEXES)
    issues
      .at('searchIndexes')
      .add(`there are more than ${MAX_INDEXES}.`, 'Keep the ones that are searched for.')
  for (const [index, text] of indexes.entries())
    checkExpression(text, expressions, issues.at(`searchIndexes[${index}]`))

  for (const [index, item] of list(type.checks, 'checks', issues).entries()) {
    const at = issues.at(`checks[${index}]`)
    const { check, at: pointer } = isObject(item) ? item : {}
    if (!CHECKS.includes(String(check)))
      at.add(`there is no check ${JSON.stringify(check)}.`, `Known are ${CHECKS.join(', ')}.`)
    checkPointer(pointer, data, at)
  }
  for (const [index, item] of list(type.ephemeral, 'ephemeral', issues).entries()) {
    const at = issues.at(`ephemeral[${index}]`)
    const { at: pointer, seconds } = isObject(item) ? item : {}
    if (!Number.isInteger(seconds) || Number(seconds) < 1)
      at.add('"seconds" is not a whole number above 0.', 'Say after how many seconds the member is removed.')
    checkPointer(pointer, data, at)
  }
  for (const [index, pointer] of list(type.writeOnly, 'writeOnly', issues).entries()) {
    const at = issues.at(`writeOnly[${index}]`)
    checkPointer(pointer, data, at)
    if (typeof pointer !== 'string' || !POINTER.test(pointer)) continue
    const reveals = (expression: unknown) =>
      expression !== undefined && shows(expression as Json, pointer, data, expressions)
    if (reveals(type.mask))
      issues
        .at('mask')
        .add(`it shows "${pointer}", which must never be returned.`, 'Leave that member out of the mask.')
    for (const [number, text] of indexes.entries())
      if (reveals(text))
        issues
          .at(`searchIndexes[${number}]`)
          .add(
            `a caller that searches could guess "${pointer}", which must never be returned.`,
            'Leave that member out of the index.',
          )
  }
  checkFunctions(type, data, issues)
  checkDataExamples(type, issues)
}
